package stream

import (
	"context"
	"time"
)

// Upkeep is what there is to do with the streams of an engine whatever they hold.
// [Engine] describes each. The service of a domain embeds its engine as this, so
// that it offers all of it and keeps commands, queries and entries to itself.
type Upkeep interface {
	Serve(ctx context.Context, request []byte) ([]byte, error)
	Verify(ctx context.Context, name string) (Report, error)
	Linked(ctx context.Context, name string, ids []string) ([]string, error)
	Erase(ctx context.Context, name string, viewer Viewer) (Erased, error)
	Trim(ctx context.Context, name string, before time.Time) (Trimmed, error)
	Trimmable(ctx context.Context, name string, before time.Time) (bool, error)
	DropSnapshot(ctx context.Context, name string, before time.Time) (bool, error)
	Stats() Stats
	Close(ctx context.Context) error
}
