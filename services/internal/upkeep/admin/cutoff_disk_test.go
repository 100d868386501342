package admin_test

import (
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// watchedDisk calls a function before each step that changes it.
type watchedDisk struct {
	vfs.FS
	mu   sync.Mutex
	call func()
}

func (d *watchedDisk) watch(call func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.call = call
}

func (d *watchedDisk) step() {
	d.mu.Lock()
	call := d.call
	d.mu.Unlock()
	if call != nil {
		call()
	}
}

func (d *watchedDisk) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &watchedFile{f, d}, nil
}

// Create implements [vfs.FS].
func (d *watchedDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	d.step()
	return d.file(d.FS.Create(name, c))
}

// OpenReadWrite implements [vfs.FS].
func (d *watchedDisk) OpenReadWrite(name string, c vfs.DiskWriteCategory, options ...vfs.OpenOption) (vfs.File, error) {
	d.step()
	return d.file(d.FS.OpenReadWrite(name, c, options...))
}

// ReuseForWrite implements [vfs.FS].
func (d *watchedDisk) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	d.step()
	return d.file(d.FS.ReuseForWrite(from, to, c))
}

// OpenDir implements [vfs.FS].
func (d *watchedDisk) OpenDir(name string) (vfs.File, error) { return d.file(d.FS.OpenDir(name)) }

// Remove implements [vfs.FS].
func (d *watchedDisk) Remove(name string) error {
	d.step()
	return d.FS.Remove(name)
}

// Rename implements [vfs.FS].
func (d *watchedDisk) Rename(from, to string) error {
	d.step()
	return d.FS.Rename(from, to)
}

type watchedFile struct {
	vfs.File
	disk *watchedDisk
}

// Write implements [vfs.File].
func (f *watchedFile) Write(content []byte) (int, error) {
	f.disk.step()
	return f.File.Write(content)
}

// WriteAt implements [vfs.File].
func (f *watchedFile) WriteAt(content []byte, at int64) (int, error) {
	f.disk.step()
	return f.File.WriteAt(content, at)
}

// Sync implements [vfs.File].
func (f *watchedFile) Sync() error {
	f.disk.step()
	return f.File.Sync()
}

// SyncData implements [vfs.File].
func (f *watchedFile) SyncData() error {
	f.disk.step()
	return f.File.SyncData()
}
