package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A bit of the manifest changes in a folder whose log was replaced since. No command
// opens the folder, none changes a file, and each says what to do; with --damaged
// commands read what is left.
func TestDamagedManifest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fillStore(t, dir)
	fillStore(t, dir)
	damageManifest(t, dir)
	before := contentsOfFolder(t, dir)
	folder, sample := []string{"--data-dir", dir}, []string{"--extension", sampleExtension}
	for name, args := range map[string][]string{
		"serve":  append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--extensions", registryFile()}, folder...),
		"verify": append([]string{"verify"}, folder...),
		"export": append(append([]string{"export"}, sample...), folder...),
		"backup": append([]string{"backup", t.TempDir()}, folder...),
	} {
		_, problem, status := runCommand(t, nil, args...)
		for _, want := range []string{dir, "it lacks the commits 1 to", "nothing was changed", "acclaim export --damaged"} {
			if status != exitProblems || !strings.Contains(problem, want) {
				t.Errorf("%s: status %d and no %q in %s", name, status, want, problem)
			}
		}
	}
	out, problem, status := runCommand(t, nil, append(append([]string{"export", "--damaged"}, sample...), folder...)...)
	if !strings.Contains(out, `"record":"start"`) && status == exitFailed {
		t.Errorf("export --damaged: status %d\n%s\n%s", status, out, problem)
	}
	if out, status := runVerify(t, "--damaged", "--data-dir", dir); status != exitProblems || !strings.Contains(out, "chunk") {
		t.Errorf("verify --damaged: status %d\n%s", status, out)
	}
	if diff := cmp.Diff(before, contentsOfFolder(t, dir)); diff != "" {
		t.Errorf("the folder has changed (-before +after):\n%s", diff)
	}
}

// Commands that only read leave a sound folder as it is, too.
func TestReadingChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fillStore(t, dir)
	before := contentsOfFolder(t, dir)
	for _, args := range [][]string{
		{"verify"}, {"export", "--extension", sampleExtension}, {"backup", t.TempDir()},
	} {
		if _, problem, status := runCommand(t, nil, append(args, "--data-dir", dir)...); status != 0 {
			t.Errorf("%s: status %d\n%s", args[0], status, problem)
		}
	}
	if diff := cmp.Diff(before, contentsOfFolder(t, dir)); diff != "" {
		t.Errorf("the folder has changed (-before +after):\n%s", diff)
	}
}

// damageManifest changes a bit in the last record of the newest manifest.
func damageManifest(t *testing.T, dir string) {
	t.Helper()
	manifests, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatalf("manifests: %v, %v", manifests, err)
	}
	last := manifests[len(manifests)-1]
	content, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-10] ^= 1
	if err := os.WriteFile(last, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// contentsOfFolder returns the content of the files in a folder, by name.
func contentsOfFolder(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(content)
	}
	return files
}
