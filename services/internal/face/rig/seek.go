package rig

import (
	"io"
	"io/fs"
)

// seekableFile seeks in a file that may be of an archive, where a file can only be read from its
// beginning: it opens the file once more where a reader goes back.
type seekableFile struct {
	fs.File
	files fs.FS
	name  string
	size  int64
	next  int64 // where the next read begins
	at    int64 // how much of File is read
}

func openSeekable(files fs.FS, name string) (*seekableFile, error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	f := &seekableFile{File: file, files: files, name: name}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close() // it is only read
		return nil, err
	}
	f.size = info.Size()
	return f, nil
}

// Seek implements [io.Seeker], for net/http, which seeks to no place outside of the file.
func (f *seekableFile) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.next
	case io.SeekEnd:
		offset += f.size
	}
	f.next = offset
	return offset, nil
}

// Read implements [io.Reader].
func (f *seekableFile) Read(p []byte) (int, error) {
	if f.next < f.at {
		again, err := f.files.Open(f.name)
		if err != nil {
			return 0, err
		}
		_ = f.File.Close() // it is only read
		f.File, f.at = again, 0
	}
	skipped, err := io.CopyN(io.Discard, f.File, f.next-f.at)
	f.at += skipped
	if err != nil {
		return 0, err
	}
	n, err := f.File.Read(p)
	f.at += int64(n)
	f.next = f.at
	return n, err
}
