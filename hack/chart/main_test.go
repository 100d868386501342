package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The committed files equal the generated ones.
func TestUpToDate(t *testing.T) {
	root := filepath.Join("..", "..")
	copied := t.TempDir()
	for _, folder := range []string{"charts/acclaim", "config/crd", "config/rbac"} {
		if err := os.CopyFS(filepath.Join(copied, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(copied); err != nil {
		t.Fatal(err)
	}
	want, got := readAll(t, filepath.Join(copied, "charts")), readAll(t, filepath.Join(root, "charts", "acclaim"))
	if diff := cmp.Diff(len(want), len(got)); diff != "" {
		t.Errorf("number of files (-generated +committed):\n%s", diff)
	}
	for name, content := range want {
		if got[strings.TrimPrefix(name, "acclaim/")] != content {
			t.Errorf("%s is not up to date: run `make generate`", name)
		}
	}
}

func readAll(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		below, _ := filepath.Rel(folder, path)
		files[filepath.ToSlash(below)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestReadValuesRefuses(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"no comment":       {"a:\n  # Text.\n  b: 1\n  c: 2\n", "a: c has no comment"},
		"unknown resource": {"# Text.\n# @crd moons\na: {}\n", "a kind and a path"},
		"no schema":        {"# Text.\n# @schema {\na: {}\n", "a: "},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readValues([]byte(test.content)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want one about %q", err, test.want)
			}
		})
	}
}

func TestRows(t *testing.T) {
	values, err := readValues([]byte("# About the file.\n\na:\n  # First\n  # half.\n  # @schema {\"enum\": [1]}\n  b: 1\n# Open.\nc: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := "| `a.b` | `1` | First half. |\n| `c` | `{}` | Open. |\n"
	if diff := cmp.Diff(want, rows("", values)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}
