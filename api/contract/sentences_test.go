package contract_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// sentence is part of a document, with # for each of its numbers.
type sentence struct {
	file, text string
	numbers    []int64
}

const (
	contractPage = "../contract.md"
	openapiFile  = "../openapi.yaml"
	movingPage   = "../../services/docs/moving.md"
)

func sentences() []sentence {
	const dataKiB = contract.MaxMessageData >> 10
	return []sentence{
		{contractPage, "| id in a query; id in a token | # bytes |", []int64{contract.MaxID}},
		{contractPage, "| key of an answer; entries of a ranking | # bytes; #, on request # |", []int64{contract.MaxAnswer, contract.DefaultRanking, contract.MaxRanking}},
		{contractPage, "| answers of a viewer to a question; moderated answers of one | #; # |", []int64{contract.MaxAnswers, contract.MaxDecisions}},
		{contractPage, "| `blocked` of a question | #, each # bytes |", []int64{contract.MaxBlocked, contract.MaxBlockedPhrase}},
		{contractPage, "| topics of a subscription; bytes of a topic | #; # |", []int64{contract.MaxTopics, contract.MaxTopic}},
		{contractPage, "| overlay keys of a channel; polls and `name` of one | #; #, # bytes |", []int64{contract.MaxOverlayKeys, contract.MaxOverlayPolls, contract.MaxOverlayName}},
		{contractPage, "| name and data of a message; its body | # bytes and # KiB;", []int64{contract.MaxMessageName, dataKiB}},
		{contractPage, "`limit` is from 1 to # and # by", []int64{contract.MaxRanking, contract.DefaultRanking}},
		{contractPage, "`minLength`, `maxLength` | integer | 1, # | characters of an answer, 1…# |", []int64{contract.MaxAnswer, contract.MaxAnswer}},
		{contractPage, "A question keeps # decisions", []int64{contract.MaxDecisions}},
		{contractPage, "It may occur up to # times, each at most # bytes", []int64{contract.MaxTopics, contract.MaxTopic}},
		{contractPage, "A name has 1 to # bytes without", []int64{contract.MaxMessageName}},
		{contractPage, "is any JSON of at most # KiB", []int64{dataKiB}},
		{contractPage, "a JSON object of at most # KiB, otherwise 413, to the games", []int64{dataKiB}},
		{contractPage, "`polls` and `questions` are 1 to # ids each", []int64{contract.MaxOverlayPolls}},
		{contractPage, "| `documentBytes`: a document after the write | 64 KiB | # MiB |", []int64{contract.MaxStoredBytes >> 20}},
		{contractPage, "| `bodyBytes`: a request body | 256 KiB | # MiB |", []int64{contract.MaxBodyBytes >> 20}},
		{contractPage, "| `adminMapBytes`: a map of patches | 4 MiB | # MiB |", []int64{contract.MaxBodyBytes >> 20}},
		{contractPage, "| `accumulationEntryBytes`: an entry | 64 KiB | # MiB |", []int64{contract.MaxStoredBytes >> 20}},
		{contractPage, "the # best visible answers", []int64{contract.DefaultRanking}},

		{openapiFile, "the # best visible answers", []int64{contract.DefaultRanking}},
		{openapiFile, "Most entries in the answer. schema: {type: integer, minimum: 1, maximum: #, default: #}", []int64{contract.MaxRanking, contract.DefaultRanking}},
		{openapiFile, "minLength: {description: Characters., type: integer, minimum: 1, maximum: #,", []int64{contract.MaxAnswer}},
		{openapiFile, "An answer has at most # bytes, too.', type: integer, minimum: 1, maximum: #, default: #}", []int64{contract.MaxAnswer, contract.MaxAnswer, contract.MaxAnswer}},
		{openapiFile, "May occur up to # times;", []int64{contract.MaxTopics}},
		{openapiFile, "schema: {type: array, maxItems: #, items: {type: string, minLength: 1, maxLength: #,", []int64{contract.MaxTopics, contract.MaxTopic}},
		{openapiFile, "name: {type: string, maxLength: #, description: For people.", []int64{contract.MaxOverlayName}},
		{openapiFile, "polls: {type: array, minItems: 1, maxItems: #, items", []int64{contract.MaxOverlayPolls}},
		{openapiFile, "questions: {type: array, minItems: 1, maxItems: #, items", []int64{contract.MaxOverlayPolls}},
		{openapiFile, "maxLength: # target:", []int64{contract.MaxMessageName}},
		{openapiFile, "Any JSON, at most # KiB without insignificant", []int64{dataKiB}},
		{openapiFile, "Any JSON object of at most # KiB. Games", []int64{dataKiB}},
		{openapiFile, "The data is over # KiB", []int64{dataKiB}},

		{movingPage, "an extension has at most # matches, of # channels and # polls each", []int64{contract.MaxMatches, contract.MaxMatchChannels, contract.MaxMatchPolls}},
	}
}

// TestDocumentsHaveSentences: the limits that have no field of a configuration are in these
// sentences, where this test writes the numbers.
func TestDocumentsHaveSentences(t *testing.T) {
	for _, s := range sentences() {
		text := readFile(t, s.file)
		pattern, replacement := s.compile()
		after := pattern.ReplaceAllString(text, replacement)
		switch {
		case !pattern.MatchString(text):
			t.Errorf("%s does not say %q", s.file, s.text)
		case after != text && !*update:
			t.Errorf("%s has other numbers in %q: go test ./api/contract -run TestDocuments -update", s.file, s.text)
		case after != text:
			if err := os.WriteFile(s.file, []byte(after), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// compile returns a pattern of the sentence with any numbers, and what has the right ones.
func (s sentence) compile() (pattern *regexp.Regexp, replacement string) {
	parts := strings.Split(s.text, "#")
	var expression, right strings.Builder
	for i, part := range parts {
		fmt.Fprintf(&expression, "(%s)", strings.ReplaceAll(regexp.QuoteMeta(part), " ", `\s+`))
		fmt.Fprintf(&right, "${%d}", i+1)
		if i < len(s.numbers) {
			expression.WriteString(`[\d,]+`)
			right.WriteString(s.format(s.numbers[i]))
		}
	}
	return regexp.MustCompile(expression.String()), right.String()
}

// format writes a number as its document does: pages group the digits of large ones.
func (s sentence) format(number int64) string {
	if s.file == openapiFile || number < 1000 {
		return strconv.FormatInt(number, 10)
	}
	return fmt.Sprintf("%d,%03d", number/1000, number%1000)
}
