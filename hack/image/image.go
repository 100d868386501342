package main

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// config is the metadata of an image.
type config struct {
	architecture string
	entrypoint   []string
	user         string // numeric, so that a cluster can tell that it is not root
	workingDir   string
	labels       map[string]string
	created      time.Time
}

// newImage returns an OCI image of one layer.
func newImage(entries []entry, c config) (v1.Image, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() { w.CloseWithError(writeLayer(w, entries)) }()
		return r, nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.ConfigFile(base, &v1.ConfigFile{
		Architecture: c.architecture,
		OS:           "linux",
		Created:      v1.Time{Time: c.created.UTC()},
		RootFS:       v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: c.entrypoint,
			User:       c.user,
			WorkingDir: c.workingDir,
			Labels:     c.labels,
		},
	})
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: c.created.UTC()}, CreatedBy: "hack/image"},
	})
}

// writeDockerArchive writes a file for `docker load` and `ctr images import`. It
// writes the file completely or not at all.
func writeDockerArchive(file, tag string, image v1.Image) error {
	reference, err := name.NewTag(tag)
	if err != nil {
		return err
	}
	unfinished := file + ".unfinished"
	if err := tarball.WriteToFile(unfinished, reference, image); err != nil {
		_ = os.Remove(unfinished)
		return err
	}
	return os.Rename(unfinished, file)
}

// writeOCILayout writes a layout that holds the image alone. The folder must be
// new, empty or a layout, which is replaced.
func writeOCILayout(folder, tag string, image v1.Image) error {
	reference, err := name.NewTag(tag)
	if err != nil {
		return err
	}
	for _, name := range []string{"blobs", "index.json", "oci-layout"} {
		if err := os.RemoveAll(filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	return written.AppendImage(image, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": reference.TagStr(),
		"io.containerd.image.name":          reference.Name(),
	}))
}
