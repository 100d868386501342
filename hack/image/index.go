package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/spf13/cobra"
)

func newIndex() *cobra.Command {
	return &cobra.Command{
		Use:   "index ARCHIVE LAYOUT...",
		Short: "Write an archive of an OCI layout that has the images of others as one, for all their processors",
		Args:  cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			index, err := joinImages(args[1:])
			if err != nil {
				return err
			}
			return writeOCIArchive(args[0], index)
		},
	}
}

// joinImages returns an index of the images in layouts, which must be of different
// processors.
func joinImages(folders []string) (v1.ImageIndex, error) {
	joined, seen := mutate.IndexMediaType(empty.Index, types.OCIImageIndex), map[string]string{}
	for _, folder := range folders {
		images, err := readLayout(folder)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		for _, image := range images {
			config, err := image.ConfigFile()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", folder, err)
			}
			platform := config.Platform()
			if other := seen[platform.String()]; other != "" {
				return nil, fmt.Errorf("%s and %s both have an image for %s", other, folder, platform)
			}
			seen[platform.String()] = folder
			joined = mutate.AppendManifests(joined, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
		}
	}
	return joined, nil
}

func readLayout(folder string) ([]v1.Image, error) {
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var images []v1.Image
	for _, descriptor := range manifest.Manifests {
		image, err := index.Image(descriptor.Digest)
		if err != nil {
			return nil, err
		}
		images = append(images, image)
	}
	return images, nil
}

// writeOCIArchive writes an archive of a layout that holds the index alone. The same index
// gives the same bytes.
func writeOCIArchive(file string, index v1.ImageIndex) error {
	folder, err := os.MkdirTemp("", "acclaim-layout-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := written.AppendIndex(index); err != nil {
		return err
	}
	var entries []entry
	err = filepath.WalkDir(folder, func(path string, found fs.DirEntry, err error) error {
		if err == nil && !found.IsDir() {
			entries = append(entries, entry{path: filepath.ToSlash(path[len(folder):]), source: path, mode: 0o644})
		}
		return err
	})
	if err != nil {
		return err
	}
	target, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { _ = target.Close() }()
	if err := writeLayer(target, entries); err != nil {
		return err
	}
	return target.Close()
}
