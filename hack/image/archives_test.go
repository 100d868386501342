package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The manifest and the formula name each archive by its address and checksum.
func TestArchives(t *testing.T) {
	source, folder := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module sample\n\ngo 1.26\n", "LICENSE": "free",
		"operator/kubectl-acclaim/main.go": "package main\n\nvar version, commit string\n\nfunc main() {}\n",
		"services/main.go":                 "package main\n\nfunc main() {}\n",
	} {
		file := filepath.Join(source, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := product{source: source, version: "v1.2.3", revision: "abc"}
	if err := p.writeArchives(t.Context(), folder, []string{"linux/amd64", "windows/amd64"}); err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(folder, "acclaim-1.2.3.krew.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, program := range map[string]string{"kubectl-acclaim-1.2.3-linux-amd64.tar.gz": "kubectl-acclaim", "kubectl-acclaim-1.2.3-windows-amd64.tar.gz": "kubectl-acclaim.exe"} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("/releases/download/v1.2.3/%s\n    sha256: %x\n    bin: %s\n", name, sha256.Sum256(content), program)
		if !strings.Contains(string(manifest), want) {
			t.Errorf("the manifest lacks %q:\n%s", want, manifest)
		}
		if got := listArchive(t, content); got != "LICENSE "+program {
			t.Errorf("%s has %s", name, got)
		}
	}
	checkFormula(t, folder)
	if !strings.Contains(string(manifest), "\n  version: v1.2.3\n") {
		t.Errorf("the manifest has another version:\n%s", manifest)
	}
	if err := p.writeArchives(t.Context(), folder, []string{"linux"}); err == nil {
		t.Error("half a platform passed")
	}
}

// checkFormula checks the formula of Homebrew, which has the platforms that it supports.
func checkFormula(t *testing.T, folder string) {
	t.Helper()
	formula, err := os.ReadFile(filepath.Join(folder, "acclaim.rb"))
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(folder, "acclaim-1.2.3-linux-amd64.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if got := listArchive(t, content); got != "LICENSE acclaim" {
		t.Errorf("the archive of the server has %s", got)
	}
	want := fmt.Sprintf("  if OS.linux? && Hardware::CPU.intel?\n    url \"https://github.com/acclaim-dev/acclaim/releases/download/v1.2.3/acclaim-1.2.3-linux-amd64.tar.gz\"\n    sha256 \"%x\"\n", sha256.Sum256(content))
	if !strings.Contains(string(formula), want) || strings.Contains(string(formula), "windows") {
		t.Errorf("the formula lacks %q, or has Windows:\n%s", want, formula)
	}
}

func listArchive(t *testing.T, content []byte) string {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	archive := tar.NewReader(compressed)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(names, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
}
