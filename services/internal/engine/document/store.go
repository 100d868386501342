package document

import (
	"context"
	"errors"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
)

// ErrConflict is the error of Put when a document is not at the version that a write
// expects. Nothing was stored.
var ErrConflict = errors.New("document: version has changed")

// Stores that cannot write several documents at once return these where the
// others promise all or none.
var (
	// ErrIncomplete is the error of Put when it may have stored some of several writes
	// and not others. Repeated with the same writes it stores those that are missing.
	// It stores them in their order: nothing before the first.
	ErrIncomplete = errors.New("document: some of the writes may be missing")
	// ErrPartial is the error of a repeated Put that finds some of the writes stored
	// and others permanently overtaken by other writers.
	ErrPartial = errors.New("document: some of the writes are stored, the others were overtaken")
)

// WriteID identifies one attempt to write, so that a write whose outcome is
// unknown can be recognised when it is read back.
type WriteID [16]byte

// Document is one version of a JSON document. The zero Document is one that was
// never written.
type Document struct {
	// Version counts the writes of the document, 0 when there was none.
	Version uint64
	// ID identifies the write that made this version.
	ID WriteID
	// Body is a JSON object; nil when the document was never written.
	Body []byte
	// Keys are those of the requests that made this version and others before.
	Keys []once.Kept
}

// Write replaces the document at Key, whose version must be Expect, by Body and Keys at
// version Expect+1.
type Write struct {
	Key    string
	Expect uint64
	ID     WriteID
	Body   []byte
	Keys   []once.Kept
}

// Store keeps versioned documents. Every implementation passes storetest.
//
// A method that returns an error of kind fault.Storage or fault.Unavailable is
// certain to have stored nothing; any other error but ErrConflict leaves the
// outcome unknown.
type Store interface {
	// Get returns the documents at the given keys, in their order: for each a
	// version no older than the last Put that returned nil before the call.
	Get(ctx context.Context, keys ...string) ([]Document, error)

	// Put makes all the writes durable or none: ErrConflict when any document is
	// not at the version its write expects. Keys are distinct. The caller does
	// not change the bodies afterwards. A store without transactions stores several
	// one after the other, and says so where that shows: [ErrIncomplete],
	// [ErrPartial].
	Put(ctx context.Context, writes ...Write) error

	// Delete makes the document at key one that was never written, its older
	// versions included. A write that is under way meanwhile may come after it, if
	// what it expects was there when it began, and may fail with its outcome unknown.
	Delete(ctx context.Context, key string) error
}
