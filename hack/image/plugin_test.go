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

// The manifest names each archive by its address and checksum, and the program in it.
func TestPlugin(t *testing.T) {
	source, folder := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module sample\n\ngo 1.26\n", "LICENSE": "free",
		"operator/kubectl-acclaim/main.go": "package main\n\nvar version, commit string\n\nfunc main() {}\n",
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
	if err := p.writePlugin(t.Context(), folder, []string{"linux/amd64", "windows/amd64"}); err != nil {
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
	if !strings.Contains(string(manifest), "\n  version: v1.2.3\n") {
		t.Errorf("the manifest has another version:\n%s", manifest)
	}
	if err := p.writePlugin(t.Context(), folder, []string{"linux"}); err == nil {
		t.Error("half a platform passed")
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
