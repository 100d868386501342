package app

import (
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fillingDisk is a disk on which another program takes all space at times.
type fillingDisk struct {
	vfs.FS
	full *atomic.Bool
}

func (d *fillingDisk) open(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &fillingFile{f, d.full}, nil
}

// Create implements [vfs.FS].
func (d *fillingDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if d.full.Load() {
		return nil, syscall.ENOSPC
	}
	return d.open(d.FS.Create(name, c))
}

// ReuseForWrite implements [vfs.FS].
func (d *fillingDisk) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open(d.FS.ReuseForWrite(from, to, c))
}

// GetDiskUsage implements [vfs.FS].
func (d *fillingDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	if d.full.Load() {
		return vfs.DiskUsage{}, nil
	}
	return vfs.DiskUsage{AvailBytes: 1 << 40}, nil
}

type fillingFile struct {
	vfs.File
	full *atomic.Bool
}

// Write implements [vfs.File].
func (f *fillingFile) Write(content []byte) (int, error) {
	if f.full.Load() {
		return 0, syscall.ENOSPC
	}
	return f.File.Write(content)
}
