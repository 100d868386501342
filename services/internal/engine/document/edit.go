package document

import (
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// DefaultMaxBytes is the largest document, after the write, of an edit that sets
// no limit of its own: 64 KiB.
const DefaultMaxBytes = 64 << 10

// Edit is one change of one document.
type Edit struct {
	Key    string
	Change Change
	// Match, when set, is the version the document must be at; 0 for one that was
	// never written.
	Match *uint64
	// Existing refuses a document that was never written with fault.NotFound.
	Existing bool
	// Always makes a version, and so its event, of an edit that changes nothing, too.
	Always bool
	// MaxBytes bounds the document after the write; 0 is DefaultMaxBytes.
	MaxBytes int
	// Once is the key of the request, nil for none. The version that the edit makes keeps it,
	// and an edit whose key the document has changes nothing.
	Once *once.Key
	// OnceForAll makes Once the key of all edits of an EditAll: if the document has it, none
	// of them changes anything.
	OnceForAll bool
}

// limit returns the largest document, in bytes, that the edit may make.
func (e Edit) limit() int {
	if e.MaxBytes == 0 {
		return DefaultMaxBytes
	}
	return e.MaxBytes
}

// applyTo returns the body that an edit makes of a document.
func (e Edit) applyTo(before Document) ([]byte, error) {
	apply, err := e.Change.prepare()
	if err != nil {
		return nil, err
	}
	if e.Match != nil && *e.Match != before.Version {
		return nil, fault.Newf(fault.Mismatch, "The document is at version %d, not %d", before.Version, *e.Match)
	}
	if e.Existing && before.Version == 0 {
		return nil, fault.New(fault.NotFound, "The document does not exist")
	}
	body := before.Body
	if body == nil {
		body = []byte("{}")
	}
	limit := e.limit()
	after, err := apply(body, limit)
	if err != nil {
		return nil, err
	}
	if len(after) > limit {
		return nil, fault.Newf(fault.TooLarge, "The document would have %d bytes, the limit is %d", len(after), limit)
	}
	if err := exactjson.CheckLimits(after); err != nil {
		return nil, fault.New(fault.Invalid, err.Error())
	}
	return after, nil
}
