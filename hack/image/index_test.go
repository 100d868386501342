package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// An archive has the images of its layouts, under one name, and the same bytes each time.
func TestIndex(t *testing.T) {
	var layouts, digests []string
	for _, architecture := range []string{"amd64", "arm64"} {
		entries, config := sample(t)
		config.architecture = architecture
		image, err := newImage(entries, config)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		layouts, digests = append(layouts, t.TempDir()), append(digests, "linux/"+architecture+" "+digest.String())
		if err := writeOCILayout(layouts[len(layouts)-1], "sample:1", image); err != nil {
			t.Fatal(err)
		}
	}
	joined, err := joinImages(layouts)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(joined); err != nil {
		t.Error(err)
	}
	manifest, err := joined.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range manifest.Manifests {
		got = append(got, m.Platform.String()+" "+m.Digest.String())
	}
	if diff := cmp.Diff(digests, got); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	first, second := filepath.Join(t.TempDir(), "archive.tar"), filepath.Join(t.TempDir(), "archive.tar")
	for _, file := range []string{first, second} {
		if err := writeOCIArchive(file, joined); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, first)["."] != read(t, second)["."] {
		t.Error("the same images give other bytes")
	}
	if _, err := joinImages(append(layouts, layouts[0])); err == nil || !strings.Contains(err.Error(), "both have an image for linux/amd64") {
		t.Errorf("two images for a processor: %v", err)
	}
}
