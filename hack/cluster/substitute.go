package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
)

// substitution is a package of another module that a component is built with in the form of
// the Go files beside its go.mod, where the real one takes in much that the cluster does
// not need.
type substitution struct {
	module string
	folder string // of the package, within the module
}

// writeModFile writes into a folder a copy of the module with the package in our form, and
// the go.mod of a component with that copy in the module's place, and returns the path of that go.mod.
func (s substitution) writeModFile(ctx context.Context, component, folder string) (string, error) {
	printed, err := runCommand(ctx, component, "go", "mod", "download", "-json", s.module)
	if err != nil {
		return "", err
	}
	var download struct{ Dir string }
	if err := json.Unmarshal([]byte(printed), &download); err != nil {
		return "", err
	}
	module := filepath.Join(folder, "module")
	replaced := filepath.Join(module, filepath.FromSlash(s.folder))
	if err := os.CopyFS(module, os.DirFS(download.Dir)); err != nil {
		return "", err
	}
	if err := os.RemoveAll(replaced); err != nil {
		return "", err
	}
	if err := copyFiles(filepath.Join(component, "*.go"), replaced); err != nil {
		return "", err
	}
	if err := copyFiles(filepath.Join(component, "go.*"), folder); err != nil {
		return "", err
	}
	modFile := filepath.Join(folder, "go.mod")
	_, err = runCommand(ctx, component, "go", "mod", "edit", "-replace", s.module+"="+module, modFile)
	return modFile, err
}

// copyFiles copies the files that match a pattern into a folder, and makes that.
func copyFiles(pattern, folder string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		if err := copyFile(file, filepath.Join(folder, filepath.Base(file))); err != nil {
			return err
		}
	}
	return nil
}
