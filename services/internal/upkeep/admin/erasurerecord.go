package admin

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
)

// erasureRecord is the body of the record of an erasure, with which a restore of older data
// erases the same viewer again. Its key names environment and extension. Each record has a salt
// of its own, so that one pass over all possible ids finds the viewer of one record alone, and
// two records of one viewer have nothing in common.
type erasureRecord struct {
	At       time.Time `json:"at"`
	Salt     []byte    `json:"salt"`
	Digests  [][]byte  `json:"digests"` // HMAC-SHA256 of each id, with the salt as key
	DropData bool      `json:"dropData"`
}

const saltSize = 32

// digestID returns the digest of an id.
func digestID(salt []byte, id string) []byte {
	h := hmac.New(sha256.New, salt)
	h.Write([]byte(id))
	return h.Sum(nil)
}

// names reports whether the record is about an id.
func (r *erasureRecord) names(id string) bool {
	digest := digestID(r.Salt, id)
	return slices.ContainsFunc(r.Digests, func(d []byte) bool { return hmac.Equal(d, digest) })
}

// storeRecord stores the record of an erasure whose changes are stored.
func (e *ErasureService) storeRecord(ctx context.Context, s *viewerSearch) error {
	if s.repeated {
		return nil
	}
	r := erasureRecord{At: s.at.UTC(), Salt: make([]byte, saltSize), DropData: s.dropData}
	if _, err := rand.Read(r.Salt); err != nil {
		return err
	}
	for _, id := range s.ids {
		r.Digests = append(r.Digests, digestID(r.Salt, id))
	}
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return e.putNew(ctx, key.Name{Kind: key.Erased, Environment: s.environment, Extension: s.extension, ID: rand.Text()}.String(), body)
}

// putNew stores a document that was never written.
func (e *ErasureService) putNew(ctx context.Context, name string, body []byte) error {
	write := document.Write{Key: name, Body: body}
	if _, err := rand.Read(write.ID[:]); err != nil {
		return err
	}
	return e.store.Put(ctx, write)
}

// parseRecord returns a record and what its key names.
func parseRecord(name string, body []byte) (n key.Name, r erasureRecord, err error) {
	n, err = key.Parse(name)
	if err == nil && n.Kind != key.Erased {
		err = fmt.Errorf("%q is not the record of an erasure", name)
	}
	if err == nil {
		err = json.Unmarshal(body, &r)
	}
	if err == nil && len(r.Salt) != saltSize {
		err = fmt.Errorf("its salt has %d bytes, not %d", len(r.Salt), saltSize)
	}
	if err != nil {
		return n, r, fmt.Errorf("the record %s of an erasure cannot be read: %w", name, err)
	}
	return n, r, nil
}

// RecordsOf returns the records of erasures that are about some extensions. Records are by their keys.
func RecordsOf(records map[string]json.RawMessage, extensions []string) (map[string]json.RawMessage, error) {
	some := map[string]json.RawMessage{}
	for name, record := range records {
		n, err := key.Parse(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(extensions, n.Extension) {
			some[name] = record
		}
	}
	return some, nil
}

// KeepRecords stores records of erasures from elsewhere, by their keys, that the store does not
// have.
func (e *ErasureService) KeepRecords(ctx context.Context, records map[string]json.RawMessage) error {
	for name, body := range records {
		if _, _, err := parseRecord(name, body); err != nil {
			return err
		}
		found, err := e.store.Get(ctx, name)
		if err == nil && found[0].Version == 0 {
			err = e.putNew(ctx, name, body)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
