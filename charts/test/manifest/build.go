// Package manifest builds what installs the operator without Helm, from config, as
// `kubectl kustomize` does.
package manifest

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Build returns the objects of a folder of config, such as default, with the operator's
// image under another name or tag where those are not empty.
func Build(config, folder string, image types.Image) (resmap.ResMap, error) {
	files := filesys.MakeFsInMemory()
	err := filepath.WalkDir(config, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(config, path)
		if err != nil {
			return err
		}
		return files.WriteFile(filepath.Join("/config", relative), content)
	})
	if err != nil {
		return nil, err
	}
	image.Name = "acclaim"
	overlay, err := yaml.Marshal(types.Kustomization{Resources: []string{"../config/" + folder}, Images: []types.Image{image}})
	if err != nil {
		return nil, err
	}
	if err := files.WriteFile("/overlay/kustomization.yaml", overlay); err != nil {
		return nil, err
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/overlay")
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", folder, err)
	}
	return built, nil
}
