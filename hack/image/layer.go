package main

import (
	"archive/tar"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// entry is a file or, without a source, an empty folder of a root file system.
type entry struct {
	path   string // absolute
	source string // file that has the content
	mode   int64  // permissions
	owner  int    // user and group
}

// writeLayer writes the entries as a tar archive whose bytes depend on their
// contents alone.
func writeLayer(w io.Writer, entries []entry) error {
	archive := tar.NewWriter(w)
	for _, e := range entries {
		if err := e.append(archive); err != nil {
			return err
		}
	}
	return archive.Close()
}

func (e entry) append(archive *tar.Writer) error {
	header := tar.Header{
		Name:    strings.TrimPrefix(path.Clean(e.path), "/"),
		Mode:    e.mode,
		Uid:     e.owner,
		Gid:     e.owner,
		ModTime: time.Unix(0, 0),
		Format:  tar.FormatUSTAR,
	}
	if e.source == "" {
		header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
		return archive.WriteHeader(&header)
	}
	content, err := os.ReadFile(e.source)
	if err != nil {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, int64(len(content))
	if err := archive.WriteHeader(&header); err != nil {
		return err
	}
	_, err = archive.Write(content)
	return err
}

// writeRoot writes the entries into a folder. It sets no owners: the Dockerfile
// does, when it copies the folder.
func writeRoot(folder string, entries []entry) error {
	for _, e := range entries {
		if err := e.place(filepath.Join(folder, filepath.FromSlash(e.path))); err != nil {
			return err
		}
	}
	return nil
}

func (e entry) place(target string) error {
	if e.source == "" {
		return os.MkdirAll(target, os.FileMode(e.mode))
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	content, err := os.ReadFile(e.source)
	if err != nil {
		return err
	}
	return os.WriteFile(target, content, os.FileMode(e.mode))
}
