// Package overlay builds the program with some of its files changed, and neither
// touches nor copies the tree: the go command reads the changed files in place of
// those of the tree, and its build cache serves everything else.
package overlay

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
)

// WriteFiles writes files into dir and returns the file for the flag -overlay of the go
// command, which makes it read them. files has their text by the absolute paths of the
// files that they stand for.
func WriteFiles(dir string, files map[string]string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	replaced := map[string]string{}
	for path, text := range files {
		to := filepath.Join(dir, strconv.Itoa(len(replaced))+"_"+filepath.Base(path))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", err
		}
		replaced[path] = to
	}
	content, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, content, 0o600)
}
