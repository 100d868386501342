package contract_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/contract"
)

var update = flag.Bool("update", false, "write the limits into the documents")

// pollBounds returns every limit of a poll with a configuration.
func pollBounds() []contract.Bound {
	return append((&contract.PollConfig{}).Bounds(), contract.PollIDBound("id", ""))
}

// bounds returns every limit of a configuration.
func bounds() []contract.Bound { return append((&contract.QuestionConfig{}).Bounds(), pollBounds()...) }

// limits are those of a schema of OpenAPI or of a CRD.
type limits struct {
	Minimum, Maximum, MaxLength, MaxItems int64
	Items                                 *limits
	Description                           string
	Enum                                  []string
	Properties                            map[string]limits
	Rules                                 []struct{ Rule, Message string } `json:"x-kubernetes-validations"`
	Free                                  bool                             `json:"x-kubernetes-preserve-unknown-fields"` // schemas cannot measure it
}

// readCRD returns the schema of the objects of a CRD.
func readCRD(t *testing.T, plural string) limits {
	t.Helper()
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema limits }
			}
		}
	}
	readYAML(t, "../../config/crd/acclaim.dev_"+plural+".yaml", &crd)
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// The schema of a Poll refuses what the service would, and nothing else: its markers are
// written by hand.
func TestPollResource(t *testing.T) {
	poll := readCRD(t, "polls")
	spec := poll.Properties["spec"]
	for _, b := range pollBounds() {
		got, ok := spec.Properties[b.Member]
		if !ok {
			t.Errorf("a Poll has no %s", b.Member)
		}
		isCount := b.Measure == contract.Between || b.Measure == contract.Positive
		if !isCount && !strings.Contains(got.Description, fmt.Sprint(b.Most)) {
			t.Errorf("the description of %s does not have the limit %q", b.Member, b.Reason())
		}
		if got.Free {
			continue
		}
		if got.of(b.Measure) != b.Most || got.Minimum != b.Least {
			t.Errorf("a Poll does not have the limit %q", b.Reason())
		}
		if b.Measure == contract.Bytes || b.Measure == contract.EachBytes {
			text := fmt.Sprint(got.Rules)
			if !strings.Contains(text, b.Reason()) || !strings.Contains(text, fmt.Sprintf("size() <= %d", b.Most)) {
				t.Errorf("no rule of a Poll says %q: %s", b.Reason(), text)
			}
		}
	}
	// Without an id, the name of the object is the id.
	named := fmt.Sprint(poll.Rules)
	if !strings.Contains(named, fmt.Sprintf("metadata.name.size() <= %d ", contract.MaxPollID)) || !strings.Contains(named, fmt.Sprintf("at most %d characters", contract.MaxPollID)) {
		t.Errorf("no rule limits the name of a Poll to %d characters: %s", contract.MaxPollID, named)
	}
	var shown []string
	for _, v := range []contract.Visibility{contract.VisibleAlways, contract.VisibleAfterVote, contract.VisibleAfterClose, contract.VisibleToStaff} {
		shown = append(shown, strings.ToUpper(string(v[:1]))+string(v[1:]))
	}
	if got := spec.Properties["resultsVisibility"].Enum; !slices.Equal(got, shown) {
		t.Errorf("a Poll has the visibilities %q, want %q", got, shown)
	}
}

// limitsOfExtension are the limits that an Extension may set: the least, the largest and the one
// that holds if it sets none.
func limitsOfExtension() map[string][3]int64 {
	return map[string][3]int64{
		"documentBytes":            {1, contract.MaxStoredBytes, contract.DefaultDocumentBytes},
		"accumulationEntryBytes":   {1, contract.MaxStoredBytes, contract.DefaultEntryBytes},
		"bodyBytes":                {1, contract.MaxBodyBytes, contract.DefaultBodyBytes},
		"adminMapBytes":            {1, contract.MaxBodyBytes, contract.DefaultAdminMapBytes},
		"tokenHours":               {1, contract.MaxTokenHours, contract.DefaultTokenHours},
		"identityStreamsPerHour":   {0, contract.MaxQuota, contract.DefaultIdentityStreams},
		"extensionStreamsPerDay":   {0, contract.MaxQuota, contract.DefaultExtensionStreams},
		"identityBytesPerDay":      {0, contract.MaxQuota, contract.DefaultIdentityBytes},
		"extensionBytesPerDay":     {0, contract.MaxQuota, contract.DefaultExtensionBytes},
		"extensionDocumentsPerDay": {0, contract.MaxQuota, contract.DefaultExtensionDocuments},
		"identityWhispersPerHour":  {0, contract.MaxQuota, contract.DefaultIdentityWhispers},
	}
}

// The schema of an Extension has the limits of the registry, and so refuses what a service would.
func TestExtensionResource(t *testing.T) {
	spec := readCRD(t, "extensions").Properties["spec"]
	for where, of := range map[string]limits{"an Extension": spec, "the sandbox of an Extension": spec.Properties["sandbox"]} {
		if got := of.Properties["sinks"].MaxItems; got != contract.MaxSinks {
			t.Errorf("%s has at most %d sinks, want %d", where, got, contract.MaxSinks)
		}
		want := limitsOfExtension()
		for name, got := range of.Properties["limits"].Properties {
			bounds, ok := want[name]
			delete(want, name)
			switch {
			case !ok && name != "identityRate" && name != "extensionRate" && name != "messageRate":
				t.Errorf("%s of %s has no limit to compare", name, where)
			case ok && (got.Minimum != bounds[0] || got.Maximum != bounds[1] || !strings.Contains(strings.Join(strings.Fields(got.Description), " "), fmt.Sprintf("%d by default", bounds[2]))):
				t.Errorf("%s of %s is from %d to %d, and %q, want %d to %d and %d by default", name, where, got.Minimum, got.Maximum, got.Description, bounds[0], bounds[1], bounds[2])
			}
		}
		if len(want) > 0 {
			t.Errorf("%s has none of the limits %v", where, want)
		}
		compareSettings(t, where, of)
	}
	if got := spec.Properties["viewerIssuers"].MaxItems; got != contract.MaxViewerIssuers {
		t.Errorf("an Extension has at most %d issuers of viewers, want %d", got, contract.MaxViewerIssuers)
	}
	for of, id := range map[string]limits{"clientID": spec.Properties["clientID"], "appIDs": *spec.Properties["appIDs"].Items} {
		if id.MaxLength != contract.MaxRegistryID {
			t.Errorf("%s has at most %d characters, want %d", of, id.MaxLength, contract.MaxRegistryID)
		}
	}
}

// compareSettings compares what the settings of an Extension for an environment say beside its limits.
func compareSettings(t *testing.T, where string, of limits) {
	t.Helper()
	rate := of.Properties["limits"].Properties["messageRate"].Description
	if want := fmt.Sprintf("%d a second with bursts of %d", contract.DefaultMessagesPerSecond, contract.DefaultMessagesAtOnce); !strings.Contains(strings.Join(strings.Fields(rate), " "), want) {
		t.Errorf("the messageRate of %s does not say %q: %s", where, want, rate)
	}
	if got := of.Properties["sinks"].Items.Properties["name"].MaxLength; got != contract.MaxSinkName {
		t.Errorf("the name of a sink of %s has at most %d characters, want %d", where, got, contract.MaxSinkName)
	}
	key := of.Properties["keys"].Items.Description
	if want := fmt.Sprintf("of %d to %d bytes when decoded", contract.MinKeyBytes, contract.MaxKeyBytes); !strings.Contains(key, want) {
		t.Errorf("a key of %s does not say %q: %s", where, want, key)
	}
	ages := of.Properties["retention"].Properties
	if len(ages) != 4 {
		t.Errorf("%s has %d retentions, want 4", where, len(ages))
	}
	for name, age := range ages {
		rules := fmt.Sprint(age.Rules)
		for _, want := range []string{">= duration('%dh') && duration(self) <= duration('%dh')", "from %dh to %dh"} {
			if want = fmt.Sprintf(want, contract.MinRetentionHours, contract.MaxRetentionHours); !strings.Contains(rules, want) {
				t.Errorf("%s of the retention of %s does not say %q: %s", name, where, want, rules)
			}
		}
	}
}

// of returns the maximum that a schema has for what a bound measures.
func (l limits) of(m contract.Measure) int64 {
	switch m {
	case contract.Between, contract.Positive:
		return l.Maximum
	case contract.Entries:
		return l.MaxItems
	case contract.EachBytes:
		return l.Items.MaxLength
	}
	return l.MaxLength
}

// The documents repeat the limits in sentences, tables and schemas, where this test writes
// the numbers.
func TestDocuments(t *testing.T) {
	for file, least := range map[string]int{"../openapi.yaml": 20, "../contract.md": 20, "../../operator/docs/poll.md": 5} {
		data := readFile(t, file)
		text, found := data, 0
		for _, b := range bounds() {
			text = writeReason(text, b, &found)
			text = writeRows(text, b, &found)
		}
		if found < least {
			t.Errorf("%s has only %d places with limits", file, found)
		}
		if text == data {
			continue
		}
		if !*update {
			t.Errorf("%s has other limits: go test ./api/contract -run TestDocuments -update", file)
		} else if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// writeReason gives each reason of the bound in a text its number.
func writeReason(text string, b contract.Bound, found *int) string {
	pattern := regexp.QuoteMeta(fmt.Sprintf(strings.Replace(string(b.Measure), "%d", "%%d", 1), b.Member))
	pattern = `\b` + strings.Replace(pattern, "%d", `\d+`, 1)
	return regexp.MustCompile(pattern).ReplaceAllStringFunc(text, func(string) string {
		*found++
		return b.Reason()
	})
}

// row matches the row of a table, or the lines of a schema, that are about one member.
var row = regexp.MustCompile("(?m)^\\| `([a-zA-Z]+)` \\|.*$|^ {8}([a-zA-Z]+):(?: \\{.*$|\n(?: {10}.*\n)+)")

// writeRows gives the numbers of a bound their value in the rows about its member.
func writeRows(text string, b contract.Bound, found *int) string {
	numbers := numbersOf(b.Measure)
	return row.ReplaceAllStringFunc(text, func(line string) string {
		if names := row.FindStringSubmatch(line); names[1]+names[2] != b.Member {
			return line
		}
		*found += len(numbers.FindAllString(line, -1))
		return numbers.ReplaceAllString(line, "${1}"+strconv.FormatInt(b.Most, 10))
	})
}

// numbersOf returns what comes before the maximum of a measure, and the number.
func numbersOf(m contract.Measure) *regexp.Regexp {
	return regexp.MustCompile(map[contract.Measure]string{
		contract.Between:    `(1…|1 to |maximum: )\d+`,
		contract.Positive:   `$^`,
		contract.Characters: `(at most )\d+`,
		contract.Bytes:      `([Aa]t most |maxLength: |\| )\d+`,
		contract.Entries:    `(\| at most |\| |maxItems: )\d+`,
		contract.EachBytes:  `([Ee]ach at most |each |maxLength: )\d+`,
		contract.Phrases:    `(and at most |maxLength: )\d+`,
		contract.Range:      `$^`,
	}[m])
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(readFile(t, file)), into); err != nil {
		t.Fatal(err)
	}
}
