package cli

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// maxArchiveFiles limits the number of files in an extension's archive.
const maxArchiveFiles = 10_000

// openExtension opens an extension's folder or archive. Nothing outside of it can be read
// through the result.
func openExtension(name string) (fs.FS, io.Closer, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		root, err := os.OpenRoot(name)
		if err != nil {
			return nil, nil, err
		}
		return root.FS(), root, nil
	}
	archive, err := zip.OpenReader(name)
	if err != nil {
		return nil, nil, fmt.Errorf("%s is neither a folder nor a zip archive: %w", name, err)
	}
	if err := checkArchive(&archive.Reader); err != nil {
		_ = archive.Close()
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return archive, archive, nil
}

// checkArchive refuses an archive with a file whose path leads out of it.
func checkArchive(archive *zip.Reader) error {
	if len(archive.File) > maxArchiveFiles {
		return fmt.Errorf("the archive has more than %d files", maxArchiveFiles)
	}
	for _, file := range archive.File {
		if !fs.ValidPath(strings.TrimSuffix(file.Name, "/")) || strings.Contains(file.Name, `\`) {
			return fmt.Errorf("the path %q leads out of the archive or is not one of an archive", file.Name)
		}
		if mode := file.Mode(); !mode.IsRegular() && !mode.IsDir() {
			return fmt.Errorf("%q is a link or a device", file.Name)
		}
	}
	return nil
}
