package contract_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sentence is part of a document, with # for each of its numbers, ## where its digits are not
// grouped.
type sentence struct {
	file, text string
	numbers    []int64
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

// numberSign stands for a number in a sentence.
var numberSign = regexp.MustCompile("##?")

// compile returns a pattern of the sentence with any numbers, and what has the right ones.
func (s sentence) compile() (pattern *regexp.Regexp, replacement string) {
	signs := numberSign.FindAllString(s.text, -1)
	var expression, right strings.Builder
	for i, part := range numberSign.Split(s.text, -1) {
		fmt.Fprintf(&expression, "(%s)", strings.ReplaceAll(regexp.QuoteMeta(part), " ", `\s+`))
		fmt.Fprintf(&right, "${%d}", i+1)
		if i < len(signs) {
			expression.WriteString(`\d+(?:,\d{3})*`)
			right.WriteString(format(s.numbers[i], signs[i] == "#"))
		}
	}
	return regexp.MustCompile(expression.String()), right.String()
}

// format returns a number, with groups of digits where a text has them.
func format(number int64, grouped bool) string {
	if !grouped || number < 1000 {
		return strconv.FormatInt(number, 10)
	}
	return fmt.Sprintf("%s,%03d", format(number/1000, true), number%1000)
}
