package backup

import (
	"context"
	"io"
	"strings"
	"time"
)

// Storage keeps backups. A backup is some files below the name of the backup.
type Storage interface {
	// String names the storage in messages.
	String() string
	// List returns the names of the complete backups, the oldest first.
	List(ctx context.Context) ([]string, error)
	// Begin begins a backup of a new name; the error is [fs.ErrExist] if there is one.
	Begin(ctx context.Context, name string) (Draft, error)
	// Open opens a file of a backup; the error is [fs.ErrNotExist] if there is none.
	Open(ctx context.Context, name, file string) (io.ReadCloser, error)
	// Remove removes a backup. Half of one never counts as complete.
	Remove(ctx context.Context, name string) error
	// RemoveUnfinished removes what is not complete of backups that began before a time.
	RemoveUnfinished(ctx context.Context, before time.Time) error
}

// Draft is a backup that is being written, which is not listed.
type Draft interface {
	// WriteFile writes a file with what write gives it.
	WriteFile(ctx context.Context, file string, write func(io.Writer) error) error
	// Complete writes the checksums of the files and makes the backup complete, all of it
	// durable.
	Complete(ctx context.Context, sums []byte) error
	// Discard removes what was written.
	Discard(ctx context.Context) error
}

const (
	sumsFile = "SHA256SUMS"
	suffix   = ".jsonl.gz"
	// nameLayout is the time that names a backup, in UTC. Names sort by age.
	nameLayout = "20060102T150405Z"
)

// OpenStorage returns the storage at a location: a bucket, as s3://BUCKET/PREFIX, see
// [openBucket], or a folder.
func OpenStorage(location string) (Storage, error) {
	if bucket, ok := strings.CutPrefix(location, bucketScheme); ok {
		return openBucket(bucket)
	}
	return folder(location), nil
}

// isName reports whether a string is the name of a backup.
func isName(s string) bool {
	_, err := time.Parse(nameLayout, s)
	return err == nil
}

// isAbandoned reports whether a name is that of a backup that began before a time.
func isAbandoned(name string, before time.Time) bool {
	begun, err := time.Parse(nameLayout, name)
	return err == nil && begun.Before(before)
}
