package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// sample returns the contents and the configuration of a small image, whose
// files were written just now into a folder of their own.
func sample(t *testing.T) ([]entry, config) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("static"), 0o600); err != nil {
		t.Fatal(err)
	}
	entries := []entry{
		{path: "/bin/program", source: program, mode: 0o755},
		{path: "/data", mode: 0o700, owner: 7},
	}
	return entries, config{
		architecture: "arm64",
		entrypoint:   []string{"/bin/program"},
		user:         "7:7",
		workingDir:   "/data",
		labels:       map[string]string{"a": "b"},
		created:      time.Unix(1e9, 0),
	}
}

func newSample(t *testing.T) v1.Image {
	t.Helper()
	image, err := newImage(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func TestImage(t *testing.T) {
	image := newSample(t)
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file.RootFS, file.History = v1.RootFS{}, nil
	want := &v1.ConfigFile{
		Architecture: "arm64",
		OS:           "linux",
		Created:      v1.Time{Time: time.Unix(1e9, 0).UTC()},
		Config: v1.Config{
			Entrypoint: []string{"/bin/program"},
			User:       "7:7",
			WorkingDir: "/data",
			Labels:     map[string]string{"a": "b"},
		},
	}
	if diff := cmp.Diff(want, file); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"bin/program 755 0 static", "data 700 7 "}, list(t, image)); diff != "" {
		t.Errorf("contents (-want +got):\n%s", diff)
	}
}

// list returns name, permissions, owner and content of what an image has.
func list(t *testing.T, image v1.Image) []string {
	t.Helper()
	contents := mutate.Extract(image)
	defer contents.Close()
	archive := tar.NewReader(contents)
	var all []string
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %o %d %s", header.Name, header.Mode, header.Uid, content))
	}
}

// The same contents from other files at another time give the same bytes.
func TestReproducible(t *testing.T) {
	var archives, layouts [2]string
	for i := range 2 {
		image, folder := newSample(t), t.TempDir()
		archives[i] = filepath.Join(folder, "image.tar")
		layouts[i] = filepath.Join(folder, "layout")
		if err := writeDockerArchive(archives[i], "sample:1", image); err != nil {
			t.Fatal(err)
		}
		for range 2 { // over itself as well
			if err := writeOCILayout(layouts[i], "sample:1", image); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(read(t, archives[0]), read(t, archives[1])); diff != "" {
		t.Errorf("docker-archive:\n%s", diff)
	}
	if diff := cmp.Diff(read(t, layouts[0]), read(t, layouts[1])); diff != "" {
		t.Errorf("OCI layout:\n%s", diff)
	}
}

// read returns the contents of a file or of all files in a folder, by name.
func read(t *testing.T, path string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(path, func(name string, file os.DirEntry, err error) error {
		if err != nil || file.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		below, _ := filepath.Rel(path, name)
		files[below] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// What is written can be read, and is the image.
func TestFormats(t *testing.T) {
	image, folder := newSample(t), t.TempDir()
	want, err := image.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	readers := map[string]func() (v1.Image, error){
		"docker-archive": func() (v1.Image, error) {
			file := filepath.Join(folder, "image.tar")
			if err := writeDockerArchive(file, "sample:1", image); err != nil {
				return nil, err
			}
			return tarball.ImageFromPath(file, nil)
		},
		"OCI layout": func() (v1.Image, error) {
			if err := writeOCILayout(folder, "sample:1", image); err != nil {
				return nil, err
			}
			digest, err := image.Digest()
			if err != nil {
				return nil, err
			}
			written, err := layout.FromPath(folder)
			if err != nil {
				return nil, err
			}
			return written.Image(digest)
		},
	}
	for format, reader := range readers {
		t.Run(format, func(t *testing.T) {
			got, err := reader()
			if err != nil {
				t.Fatal(err)
			}
			if err := validate.Image(got); err != nil {
				t.Error(err)
			}
			if name, err := got.ConfigName(); err != nil || name != want {
				t.Errorf("image %s, %v, want %s", name, err, want)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	entries, c := sample(t)
	image := newSample(t)
	entries[0].source += ".gone"
	if _, err := newImage(entries, c); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := writeDockerArchive(file, "Not A Tag", image); err == nil {
		t.Error("a tag that is none was taken")
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a file was left behind")
	}
}
