package stream

import (
	"context"
	"time"
)

// Admin is the set of domain-independent maintenance operations on streams.
// [Engine] describes each. The service of a domain embeds its engine as this, so
// that it offers these operations and keeps commands, queries and entries to itself.
type Admin interface {
	Serve(ctx context.Context, request []byte, answer func(part []byte)) error
	Verify(ctx context.Context, name string) (Report, error)
	RelatedIDs(ctx context.Context, name string, ids []string) ([]string, error)
	Erase(ctx context.Context, name string, viewer Viewer) (Erasure, error)
	Truncate(ctx context.Context, name string, before time.Time) (Truncation, error)
	NeedsTruncation(ctx context.Context, name string, before time.Time) (bool, error)
	Purge(ctx context.Context, name string, before time.Time, dryRun bool) (PurgeResult, error)
	DropSnapshot(ctx context.Context, name string, before time.Time) (bool, error)
	Stats() Stats
	Close(ctx context.Context) error
}
