package arch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLayers(t *testing.T) {
	r, err := readRules(layers, owners, timeless)
	if err != nil {
		t.Fatal(err)
	}
	packages, err := readTree("github.com/acclaim-dev/acclaim", "../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range slices.Concat(check(r, packages), checkUse(r, packages)) {
		t.Error(violation)
	}
}

// The rest of the file makes sure that the test above can fail.

const (
	testLayers = `
package      | imports | tests also
app/store    |         |
app/rules    | store double | fake
app/fake     | store   |
app/internal/testing/double | store | rules
`
	testOwners = `
library  | imported by
database | store
gone     |
`
)

// sound is a tree that keeps the rules above.
func sound() map[string]pkg {
	return map[string]pkg{
		"store":  {path: "app/store", libraries: []string{"database", "fmt"}, clock: []string{"store.go:1"}},
		"rules":  {path: "app/rules", imports: []string{"store"}, testImports: []string{"rules", "fake"}},
		"fake":   {path: "app/fake"},
		"double": {path: "app/internal/testing/double", imports: []string{"store"}, testImports: []string{"rules"}},
	}
}

func TestCheck(t *testing.T) {
	r, err := readRules(testLayers, testOwners, "rules")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		replace string
		by      pkg
		want    []string
	}{
		"sound": {"fake", pkg{path: "app/fake"}, nil},
		"upward import": {"store", pkg{path: "app/store", imports: []string{"rules"}},
			[]string{"app/store may not import rules"}},
		"import of what only tests may": {"rules", pkg{path: "app/rules", imports: []string{"fake"}},
			[]string{"app/rules may not import fake"}},
		"import of test support": {"rules", pkg{path: "app/rules", imports: []string{"double"}},
			[]string{"app/rules may not import double, which is for tests"}},
		"test import": {"fake", pkg{path: "app/fake", testImports: []string{"rules"}},
			[]string{"tests of app/fake may not import rules"}},
		"library of another": {"rules", pkg{path: "app/rules", libraries: []string{"database"}},
			[]string{"app/rules may not import database"}},
		"below a library of another": {"rules", pkg{path: "app/rules", libraries: []string{"database/driver"}},
			[]string{"app/rules may not import database/driver"}},
		"library with a like name": {"rules", pkg{path: "app/rules", libraries: []string{"databases"}}, nil},
		"library of nobody": {"store", pkg{path: "app/store", libraries: []string{"gone"}},
			[]string{"app/store may not import gone"}},
		"clock": {"rules", pkg{path: "app/rules", clock: []string{"vote.go:7"}},
			[]string{"app/rules may not ask for the time: vote.go:7"}},
		"renamed": {"fake", pkg{path: "app/mock"},
			[]string{"app/fake is in the table of layers and does not exist", "app/mock is not in the table of layers"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tree := sound()
			tree[test.replace] = test.by
			got := check(r, []pkg{tree["store"], tree["rules"], tree["fake"], tree["double"]})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckUse(t *testing.T) {
	r, err := readRules(testLayers, testOwners, "rules")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"app/rules may import double, and does not"}
	if diff := cmp.Diff(want, checkUse(r, []pkg{sound()["store"], sound()["rules"]})); diff != "" {
		t.Errorf("unused imports (-want +got):\n%s", diff)
	}
}

func TestReadRulesRefuses(t *testing.T) {
	tests := map[string]struct{ layers, owners, timeless, want string }{
		"unlisted import": {strings.Replace(testLayers, "fake\n", "mock\n", 1), testOwners, "", "mock"},
		"unlisted owner":  {testLayers, strings.Replace(testOwners, "store", "shop", 1), "", "shop"},
		"unlisted pure":   {testLayers, testOwners, "clock", "clock"},
		"name twice":      {testLayers + "lib/store | |\n", testOwners, "", "share a name"},
		"missing column":  {testLayers + "app/more |\n", testOwners, "", "row of three"},
		"extra column":    {testLayers, testOwners + "more | |\n", "", "row of two"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := readRules(test.layers, test.owners, test.timeless)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want one about %q", err, test.want)
			}
		})
	}
}

func TestReadTree(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{
		"app/store/store.go":      "// Package store keeps things. It forgets nothing.\npackage store\n\nimport (\n\t\"database\"\n\t\"time\"\n)\n\nvar _ = time.Now()\nvar _ = time.Unix\n",
		"app/rules/rules.go":      "package rules\n\nimport \"mod/app/store\"\n",
		"app/rules/rules_test.go": "package rules_test\n\nimport (\n\t\"mod/app/fake\"\n\t\"time\"\n)\n\nvar _ = time.Now()\n",
		"app/rules/testdata/x.go": "package ignored\n",
		"tools/go.mod":            "module tools\n",
		"tools/tools.go":          "package tools\n",
	}
	for name, source := range files {
		writeFile(t, filepath.Join(root, name), source)
	}
	got, err := readTree("mod", root)
	if err != nil {
		t.Fatal(err)
	}
	want := []pkg{
		{path: "app/rules", imports: []string{"store"}, testImports: []string{"fake"}},
		{path: "app/store", doc: "Package store keeps things.", libraries: []string{"database", "time"}, clock: []string{"store.go:9"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(pkg{})); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
