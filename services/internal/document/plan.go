package document

import (
	"bytes"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// plan is what a batch of edits makes of a document. A nil plan is that of a
// batch which could not be decided.
type plan struct {
	before Document
	body   []byte
	// changes counts the edits that change the document.
	changes  int
	verdicts []verdict
}

// verdict is what an edit comes to if those before it are stored.
type verdict struct {
	// body is what the document is after the edit, err why it was refused.
	body []byte
	err  error
	// changes counts the changes up to this edit, itself included.
	changes int
}

// makePlan decides a batch, in order, against a document.
func makePlan(before Document, edits []*item) *plan {
	p := &plan{before: before, body: before.Body, verdicts: make([]verdict, len(edits))}
	for i, item := range edits {
		version := before.Version
		if p.changes > 0 {
			version++
		}
		body, err := item.Value.edit.evaluate(Document{Version: version, Body: p.body})
		if err == nil && !bytes.Equal(body, p.body) {
			p.body = body
			p.changes++
		}
		p.verdicts[i] = verdict{body: p.body, err: err, changes: p.changes}
	}
	return p
}

func (p *plan) write(key string, id WriteID) Write {
	return Write{Key: key, Expect: p.before.Version, ID: id, Body: p.body}
}

// result is the answer to the edit at index i when err is the outcome of the
// write.
func (p *plan) result(i int, err error) (Document, error) {
	if p == nil {
		return Document{}, err
	}
	v := p.verdicts[i]
	switch {
	case v.err != nil && (v.changes == 0 || err == nil):
		return Document{}, v.err
	case v.err != nil:
		// It was refused because of edits that may not be there, so it may not be
		// told why; but nothing of it is stored.
		return Document{}, fault.Wrap(fault.Storage, err, "The documents could not be written")
	case v.changes == 0:
		return p.before, nil
	case err != nil:
		return Document{}, err
	case v.changes < p.changes:
		return Document{Body: v.body}, nil
	}
	return Document{Version: p.before.Version + 1, Body: v.body}, nil
}
