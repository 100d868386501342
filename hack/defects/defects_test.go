package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Code that changes takes its defect along: this fails in `make test`, not only in the
// slice of the table that CI runs.
func TestDefectsAreInTheSource(t *testing.T) {
	all := defectCases()
	for _, d := range all {
		if _, err := writeOverlay("../..", t.TempDir(), d.edits); err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
		name, _, _ := strings.Cut(d.test, "/")
		if !hasTest(t, filepath.Join("../..", d.folder), name) {
			t.Errorf("%s: there is no %s in %s", d.name, d.test, d.folder)
		}
	}
	if len(all) < 15 {
		t.Errorf("%d defects", len(all))
	}
}

func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	declaration := regexp.MustCompile(`(?m)^func ` + name + `\(`)
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if declaration.Match(source) {
			return true
		}
	}
	return false
}

// module is a program with two functions and their tests.
func module(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/counter\n\ngo 1.26\n",
		"counter/counter.go": `package counter

import "sync"

const step = 1

type Counter struct {
	mu sync.Mutex
	n  int
}

func (c *Counter) Add() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n >= 2 &&
		c.n < 100 {
		return c.n
	}
	c.n += step
	return c.n
}
`,
		"counter/counter_test.go": `package counter

import "testing"

func TestAdd(t *testing.T) {
	c := &Counter{}
	for range 5 {
		c.Add()
	}
	if n := c.Add(); n != 2 {
		t.Errorf("%d", n)
	}
}

func TestNothing(*testing.T) {}
`,
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// Only a test that runs and fails has found a defect.
func TestVerdicts(t *testing.T) {
	root := module(t)
	for name, test := range map[string]struct {
		edit codeEdit
		test string
		want string // of the error; empty: the defect is found
	}{
		"no limit":             {codeEdit{"counter", "Counter.Add", "c.n >= 2 && c.n < 100", "false"}, "TestAdd", ""},
		"another constant":     {codeEdit{"counter", "step", "1", "7"}, "TestAdd", ""},
		"it ends the process":  {codeEdit{"counter", "Counter.Add", "c.mu.Lock()", ""}, "TestAdd", ""},
		"no test finds it":     {codeEdit{"counter", "Counter.Add", "c.n < 100", "c.n < 99"}, "TestAdd", "passes"},
		"another test":         {codeEdit{"counter", "step", "1", "7"}, "TestNothing", "passes"},
		"no such test":         {codeEdit{"counter", "step", "1", "7"}, "TestMissing", "no test"},
		"it does not compile":  {codeEdit{"counter", "step", "1", `"1"`}, "TestAdd", "compile"},
		"the code has changed": {codeEdit{"counter", "Counter.Add", "c.n >= 3", "false"}, "TestAdd", "no longer applies"},
		"it is there twice":    {codeEdit{"counter", "Counter.Add", "c.n", "c.n"}, "TestAdd", "no longer applies"},
		"no such declaration":  {codeEdit{"counter", "Counter.Subtract", "c.n", "c.n"}, "TestAdd", "no longer applies"},
	} {
		t.Run(name, func(t *testing.T) {
			d := defectCase{name, []codeEdit{test.edit}, "counter", test.test}
			var out bytes.Buffer
			err := bringBack(t.Context(), []defectCase{d}, root, t.TempDir(), &out)
			if found := strings.Contains(out.String(), "  found  "); found != (test.want == "") || found != (err == nil) {
				t.Errorf("%q, %v", out.String(), err)
			}
			if err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if strings.Contains(test.want, "applies") != errors.Is(err, errGone) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSelectCases(t *testing.T) {
	all := defectCases()
	if _, err := selectCases(all, "4/3", ""); err == nil {
		t.Error("a part beyond the last one is no error")
	}
	if _, err := selectCases(all, "1/1", "no such name"); err == nil {
		t.Error("a name that no defect has is no error")
	}
}
