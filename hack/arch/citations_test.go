package arch

import (
	"bufio"
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const contractFile = "../../api/contract.md"

// Every section and rule of the contract that a Go comment cites must exist.
func TestCitations(t *testing.T) {
	sections := readSections(t)
	cited := 0
	for _, root := range []string{"../../services", "../../api", "../../operator", "../../hack"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			for _, c := range readCitations(t, path) {
				cited++
				if problem := sections.check(c); problem != "" {
					t.Errorf("%s: %s", path, problem)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if cited < 20 {
		t.Errorf("%d citations found; the patterns of this test match no more what comments write", cited)
	}
}

// Every operation of the OpenAPI document must link to a heading of the contract.
// TestLinks checks that the headings exist.
func TestOperationsLinkToTheContract(t *testing.T) {
	source, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := yaml.Unmarshal(source, &document); err != nil {
		t.Fatal(err)
	}
	operations := 0
	for path, item := range document.Paths {
		for method, value := range item {
			operation, ok := value.(map[string]any)
			if !ok {
				continue // servers and parameters of the path
			}
			operations++
			docs, _ := operation["externalDocs"].(map[string]any)
			if url, _ := docs["url"].(string); !strings.HasPrefix(url, "contract.md#") {
				t.Errorf("%s %s has no externalDocs.url in contract.md", method, path)
			}
			if id, _ := operation["operationId"].(string); id == "" {
				t.Errorf("%s %s has no operationId", method, path)
			}
		}
	}
	if operations == 0 {
		t.Error("the document has no operations")
	}
}

// Every reason that the OpenAPI document lists must be in the contract to the letter.
func TestContractHasEveryReason(t *testing.T) {
	source, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	contract, err := os.ReadFile(contractFile)
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := yaml.Unmarshal(source, &document); err != nil {
		t.Fatal(err)
	}
	reasons := appendReasons(nil, document)
	if len(reasons) < 40 {
		t.Errorf("only %d reasons found", len(reasons))
	}
	slices.Sort(reasons)
	for _, reason := range slices.Compact(reasons) {
		if !bytes.Contains(contract, []byte("`"+reason+"`")) {
			t.Errorf("api/contract.md lacks the reason %q", reason)
		}
	}
}

// appendReasons appends the x-reasons anywhere in a YAML document.
func appendReasons(reasons []string, document any) []string {
	switch node := document.(type) {
	case []any:
		for _, item := range node {
			reasons = appendReasons(reasons, item)
		}
	case map[string]any:
		for name, value := range node {
			if list, ok := value.([]any); ok && name == "x-reasons" {
				for _, item := range list {
					reasons = append(reasons, item.(string))
				}
				continue
			}
			reasons = appendReasons(reasons, value)
		}
	}
	return reasons
}

// citation names a section, and a rule of it unless rule is empty.
type citation struct{ section, rule string }

var (
	sectionPattern = regexp.MustCompile(`(RFC \d+, )?\b[Ss]ections? ((?:\d+(?:\.\d+)?)(?:(?:,| and| to) \d+(?:\.\d+)?)*)( of RFC)?`)
	ruleOfPattern  = regexp.MustCompile(`\brules? (\d+) of section (\d+\.\d+)`)
	thenRule       = regexp.MustCompile(`\b(?:[Ss]ection )?(\d+\.\d+),? rule (\d+)`)
	numberPattern  = regexp.MustCompile(`\d+(?:\.\d+)?`)
)

// readCitations returns what the comments of a Go file cite, and the names of
// table tests such as "4.1 rule 3: a count over the total".
func readCitations(t *testing.T, path string) []citation {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []citation
	for _, group := range file.Comments {
		found = append(found, findCitations(group.Text())...)
	}
	if strings.HasSuffix(path, "_test.go") {
		for _, match := range regexp.MustCompile(`"(\d+\.\d+) rule (\d+)`).FindAllSubmatch(source, -1) {
			found = append(found, citation{string(match[1]), string(match[2])})
		}
	}
	return found
}

func findCitations(comment string) (found []citation) {
	comment = strings.Join(strings.Fields(comment), " ")
	for _, match := range ruleOfPattern.FindAllStringSubmatch(comment, -1) {
		found = append(found, citation{match[2], match[1]})
	}
	for _, match := range thenRule.FindAllStringSubmatch(comment, -1) {
		found = append(found, citation{match[1], match[2]})
	}
	for _, match := range sectionPattern.FindAllStringSubmatch(comment, -1) {
		if match[1] != "" || match[3] != "" {
			continue // a section of an RFC
		}
		for _, number := range numberPattern.FindAllString(match[2], -1) {
			found = append(found, citation{section: number})
		}
	}
	return found
}

// sections maps the number of each section of the contract to the numbers of its
// rules.
type sections map[string][]string

func (s sections) check(c citation) string {
	rules, ok := s[c.section]
	switch {
	case !ok:
		return "api/contract.md has no section " + c.section
	case c.rule != "" && !slices.Contains(rules, c.rule):
		return "section " + c.section + " of api/contract.md has no rule " + c.rule
	}
	return ""
}

func readSections(t *testing.T) sections {
	t.Helper()
	source, err := os.ReadFile(contractFile)
	if err != nil {
		t.Fatal(err)
	}
	return parseSections(source)
}

// parseSections reads headings that begin with a number, and the numbered lists
// below them up to the next such heading.
func parseSections(markdown []byte) sections {
	heading := regexp.MustCompile(`^#{2,3} (\d+(?:\.\d+)?) `)
	rule := regexp.MustCompile(`^(\d+)\. `)
	found, current := sections{}, ""
	for lines := bufio.NewScanner(bytes.NewReader(markdown)); lines.Scan(); {
		if match := heading.FindStringSubmatch(lines.Text()); match != nil {
			current = match[1]
			found[current] = []string{}
		} else if match := rule.FindStringSubmatch(lines.Text()); match != nil && current != "" {
			found[current] = append(found[current], match[1])
		}
	}
	return found
}

func TestFindCitations(t *testing.T) {
	tests := map[string][]citation{
		"the bounds (section 8).":                          {{"8", ""}},
		"has them (sections 2.7,\n4.4 and 4.5).":           {{"2.7", ""}, {"4.4", ""}, {"4.5", ""}},
		"counts: rule 5 of\nsection 2.2.":                  {{"2.2", "5"}, {"2.2", ""}},
		"Section 4.2, rule 4, and its like":                {{"4.2", "4"}, {"4.2", ""}},
		"as RFC 6902, section 4.1, says":                   nil,
		"is MergePatch of RFC 7396, section 2. It changes": nil,
	}
	for comment, want := range tests {
		if diff := cmp.Diff(want, findCitations(comment), cmp.AllowUnexported(citation{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", comment, diff)
		}
	}
}

func TestParseSections(t *testing.T) {
	s := parseSections([]byte("## 2 Two\n\n### 2.1 One\n1. a\n2. b\n\n#### GET /x\n3. c\n"))
	for c, sound := range map[citation]bool{
		{"2", ""}: true, {"2.1", "2"}: true, {"2.1", "3"}: true, {"2.1", "4"}: false, {"2.2", ""}: false,
	} {
		if got := s.check(c) == ""; got != sound {
			t.Errorf("%v is sound: %v, want %v", c, got, sound)
		}
	}
}
