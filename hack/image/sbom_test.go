package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// The test's own program has a bill of materials with the libraries it uses.
func TestSBOM(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &second} {
		if err := writeSBOM(w, "v1.2.3", []string{program, program}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same program gives other bytes")
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(&first, cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if c := bom.Metadata.Component; c.Name != "acclaim" || c.Version != "v1.2.3" {
		t.Errorf("it is about %s %s", c.Name, c.Version)
	}
	listed := map[string]int{}
	for _, c := range *bom.Components {
		listed[strings.SplitAfter(c.PackageURL, "@")[0]]++
		if c.Name == "std" && c.Version != runtime.Version() {
			t.Errorf("Go is %s", c.Version)
		}
	}
	for _, name := range []string{"std", "github.com/spf13/cobra", "github.com/CycloneDX/cyclonedx-go"} {
		if listed["pkg:golang/"+name+"@"] != 1 {
			t.Errorf("%s is listed %d times", name, listed["pkg:golang/"+name+"@"])
		}
	}
}

func TestSBOMRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeSBOM(&bytes.Buffer{}, "", []string{file}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a script: %v", err)
	}
}
