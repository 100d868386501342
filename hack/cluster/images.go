package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
)

// imageName returns the name by which manifests call an image of the cluster's
// own. The tag never changes: no node keeps an image longer than a cluster.
func imageName(program string) string {
	return "localhost/" + program + ":cluster"
}

// packImage returns a docker-archive of an image that runs a program, given the
// program's file.
func (b builder) packImage(ctx context.Context, packer, program string) (string, error) {
	name := filepath.Base(program)
	sources := filepath.Join(b.source, "..", "image")
	key, err := cacheKey(name, program, filepath.Join(sources, "image.go"), filepath.Join(sources, "layer.go"), filepath.Join(sources, "go.sum"))
	if err != nil {
		return "", err
	}
	folder, err := b.fillOnce(ctx, "image-"+name, key, func(folder string) error {
		_, err := runCommand(ctx, folder, packer, "pack", "--tag", imageName(name), "--docker-archive", filepath.Join(folder, name+".tar"), program)
		return err
	})
	return filepath.Join(folder, name+".tar"), err
}

// packImages returns the archives of all images that a cluster needs, given the
// programs of some.
func (b builder) packImages(ctx context.Context, programs []string) ([]string, error) {
	folder, err := os.MkdirTemp("", "acclaim-cluster-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	pause := filepath.Join(folder, "pause")
	if _, err := runCommand(ctx, b.source, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", pause, "./pause"); err != nil {
		return nil, err
	}
	return b.packPrograms(ctx, append([]string{pause}, programs...))
}

// packPrograms returns the archive of an image of each program.
func (b builder) packPrograms(ctx context.Context, programs []string) ([]string, error) {
	folder, err := os.MkdirTemp("", "acclaim-packer-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	packer := filepath.Join(folder, "image")
	if _, err := runCommand(ctx, filepath.Join(b.source, "..", "image"), "go", "build", "-o", packer, "."); err != nil {
		return nil, err
	}
	var archives []string
	for _, program := range programs {
		archive, err := b.packImage(ctx, packer, program)
		if err != nil {
			return nil, err
		}
		archives = append(archives, archive)
	}
	return archives, nil
}

// findGatewayAPI returns the folder of the Gateway API's resource definitions, which the
// tests of the operator install as well.
func (b builder) findGatewayAPI(ctx context.Context) (string, error) {
	module := filepath.Join(b.source, "..", "envtest", "gateway")
	printed, err := runCommand(ctx, module, "go", "mod", "download", "-json", "sigs.k8s.io/gateway-api")
	if err != nil {
		return "", err
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal([]byte(printed), &downloaded); err != nil {
		return "", err
	}
	return filepath.Join(downloaded.Dir, "config", "crd", "standard"), nil
}
