package document

import (
	"bytes"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// batchPlan holds the effect of a batch of edits on a document. It is nil for a batch
// that could not be decided.
type batchPlan struct {
	before Document
	body   []byte
	keys   []once.Kept
	// changes counts the edits that change the document.
	changes  int
	verdicts []editOutcome
}

// editOutcome holds the effect of an edit if those before it are stored.
type editOutcome struct {
	// body is the document after the edit, err the reason of a refusal.
	body []byte
	err  error
	// changes counts the changes up to this edit, itself included.
	changes int
}

// makePlan decides a batch, in order, against a document. evaluate returns the body that
// an edit makes of a document.
func makePlan(before Document, edits []*editItem, evaluate func(Edit, Document) ([]byte, error)) *batchPlan {
	p := &batchPlan{before: before, body: before.Body, keys: before.Keys, verdicts: make([]editOutcome, len(edits))}
	for i, item := range edits {
		version := before.Version
		if p.changes > 0 {
			version++
		}
		edit := item.Value.edit
		known, keys, err := false, p.keys, error(nil)
		if edit.Once != nil {
			if known, err = findKey(keys, edit.Once); err == nil && !known {
				keys, err = withKey(keys, edit.Once)
			}
		}
		if !known && err == nil {
			var body []byte
			if body, err = evaluate(edit, Document{Version: version, Body: p.body}); err == nil {
				p.applyBody(body, keys, edit)
			}
		}
		p.verdicts[i] = editOutcome{body: p.body, err: err, changes: p.changes}
	}
	return p
}

// applyBody makes body and keys those of the document. An edit with a key, or one that always makes a
// version, makes one whatever it changes.
func (p *batchPlan) applyBody(body []byte, keys []once.Kept, e Edit) {
	if e.Once == nil && !e.Always && bytes.Equal(body, p.body) {
		return
	}
	p.body, p.keys = body, keys
	p.changes++
}

func (p *batchPlan) buildWrite(key string, id WriteID) Write {
	return Write{Key: key, Expect: p.before.Version, ID: id, Body: p.body, Keys: p.keys}
}

// resultOf is the answer to the edit at index i when err is the outcome of the
// write.
func (p *batchPlan) resultOf(i int, err error) (Document, error) {
	if p == nil {
		return Document{}, err
	}
	v := p.verdicts[i]
	switch {
	case v.err != nil && (v.changes == 0 || err == nil):
		return Document{}, v.err
	case v.err != nil:
		// The refusal depends on edits that may not be stored, so its reason may be
		// wrong; but nothing of this edit is stored.
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
