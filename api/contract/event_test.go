package contract_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// TestEventsInDocuments: the tables of events have each name, and no other.
func TestEventsInDocuments(t *testing.T) {
	want := slices.Sorted(slices.Values(contract.Events()))
	name := regexp.MustCompile("`([a-z_]+:?)(?:<id>)?`")
	for file, beginning := range map[string]string{"../contract.md": "\n| name | data | when |\n", "../openapi.yaml": "\n      | name | data | when |\n"} {
		_, table, found := strings.Cut(readFile(t, file), beginning)
		table, _, ended := strings.Cut(table, "| any other")
		if !found || !ended {
			t.Fatalf("%s has no table of events", file)
		}
		var got []string
		for row := range strings.Lines(table) {
			first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(row), "|"), "|")
			for _, match := range name.FindAllStringSubmatch(first, -1) {
				got = append(got, match[1])
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events of %s (-want +got):\n%s", file, diff)
		}
	}
}

// TestEventsInScripts: pages and the TypeScript client cannot share the constants.
func TestEventsInScripts(t *testing.T) {
	known := append(contract.Events(), contract.Resync)
	name := regexp.MustCompile(`\b[a-z_]+_(?:update|delete)\b:?|\bresync\b`)
	found := 0
	for _, pattern := range []string{"../../services/internal/face/page/static/*.js", "../clients/typescript/src/*.ts"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, ".d.ts") { // generated from the description, with its sentences
				continue
			}
			for _, used := range name.FindAllString(readFile(t, file), -1) {
				if found++; !slices.Contains(known, used) {
					t.Errorf("%s has the event %q", file, used)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d events were found", found)
	}
}

// TestEventsAreSpelledOnce: the program and the clients in Go take the names of events and
// targets from here.
func TestEventsAreSpelledOnce(t *testing.T) {
	for _, root := range []string{"../../services", "../../operator", ".."} {
		err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
			if entry != nil && entry.IsDir() && (entry.Name() == "contract" || entry.Name() == "testing") {
				return filepath.SkipDir
			}
			if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			for _, text := range literals(t, file) {
				if spellsEvent(text) {
					t.Errorf("%s spells %q, which api/contract has a constant for", file, text)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func spellsEvent(text string) bool {
	if text == contract.Resync || strings.HasPrefix(text, contract.TargetWhisper) {
		return true
	}
	return slices.ContainsFunc(contract.Events(), func(name string) bool {
		kind := strings.TrimSuffix(name, ":")
		return strings.HasPrefix(text, name) || strings.Contains(kind, "_") && strings.HasPrefix(text, kind) ||
			strings.HasPrefix(text, "_") && strings.HasSuffix(kind, text)
	})
}

func literals(t *testing.T, file string) (texts []string) {
	t.Helper()
	source := []byte(readFile(t, file))
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile(file, -1, len(source)), source, nil, 0)
	for {
		switch _, kind, literal := s.Scan(); kind {
		case token.EOF:
			return texts
		case token.STRING:
			text, err := strconv.Unquote(literal)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
	}
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
