package document

import "github.com/acclaim-dev/acclaim/services/internal/fault"

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
	// MaxBytes bounds the document after the write; 0 is DefaultMaxBytes.
	MaxBytes int
}

// evaluate returns the body that an edit makes of a document.
func (e Edit) evaluate(before Document) ([]byte, error) {
	if e.Match != nil && *e.Match != before.Version {
		return nil, fault.Newf(fault.Mismatch, "The document is at version %d, not %d", before.Version, *e.Match)
	}
	body := before.Body
	if body == nil {
		body = []byte("{}")
	}
	after, err := e.Change.apply(body)
	if err != nil {
		return nil, err
	}
	limit := e.MaxBytes
	if limit == 0 {
		limit = DefaultMaxBytes
	}
	if len(after) > limit {
		return nil, fault.Newf(fault.TooLarge, "The document would have %d bytes, the limit is %d", len(after), limit)
	}
	return after, nil
}
