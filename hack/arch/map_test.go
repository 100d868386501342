package arch

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the map of packages into CONTRIBUTING.md")

// The map of CONTRIBUTING.md is between these lines.
const (
	mapBegin = "<!-- packages, written from their comments by: go test ./hack/arch -run TestMap -update -->\n"
	mapEnd   = "<!-- end of packages -->\n"
)

// CONTRIBUTING's map names every package with the first sentence of its comment.
func TestMap(t *testing.T) {
	const file = "../../CONTRIBUTING.md"
	packages, err := readTree("github.com/acclaim-dev/acclaim", "../..")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(data), mapBegin)
	old, after, ends := strings.Cut(rest, mapEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the map", file)
	}
	want := renderMap(packages)
	if old == want {
		return
	}
	if !*update {
		t.Fatalf("the map of %s is out of date: go test ./hack/arch -run TestMap -update", file)
	}
	if err := os.WriteFile(file, []byte(before+mapBegin+want+mapEnd+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// renderMap returns a table of packages and what they do.
func renderMap(packages []pkg) string {
	var b strings.Builder
	b.WriteString("| | |\n|---|---|\n")
	for _, p := range packages {
		words := strings.Fields(p.doc)
		if len(words) > 0 && (words[0] == "Package" || words[0] == "Command") {
			words = words[2:]
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", p.path, strings.TrimRight(strings.Join(words, " "), ".:"))
	}
	return b.String()
}
