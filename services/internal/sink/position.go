package sink

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/key"
)

// Kind is the first element of the keys of positions and claims; the environment
// is the second.
const Kind = "sink"

// position is what a sink knows of a subject.
type position struct {
	// Head is how far the subject's stream, or the version that its document, had come.
	Head uint64 `json:"head"`
	// Resets counts the deletions of a poll, Stats is a digest of its statistics.
	Resets uint64 `json:"resets,omitempty"`
	Stats  string `json:"stats,omitempty"`
	// EndsAt is when the poll ends, Ended the end that was told; Unix seconds.
	EndsAt int64 `json:"endsAt,omitempty"`
	Ended  int64 `json:"ended,omitempty"`
	// Message is the number of the last message of a feed that was told, Before that
	// of the last one up to Head; 0 where that is not known.
	Message uint64 `json:"message,omitempty"`
	Before  uint64 `json:"before,omitempty"`
	// Tried is for how many milliseconds the next event was tried.
	Tried int64 `json:"tried,omitempty"`
}

// due reports whether the end of a poll has come and was not told of.
func (p position) due(now time.Time) bool {
	return p.EndsAt != 0 && p.EndsAt != p.Ended && p.EndsAt <= now.Unix()
}

// stored is a position with the version of its document, 0 when there is none.
type stored struct {
	position
	version uint64
}

// positions are those of a sink.
type positions struct {
	store  document.Store
	prefix string // of their keys
}

func (p positions) key(subject string) string { return p.prefix + "at/" + subject }

func (p positions) load(ctx context.Context, subjects ...string) ([]stored, error) {
	keys := make([]string, len(subjects))
	for i, subject := range subjects {
		keys[i] = p.key(subject)
	}
	found, err := p.store.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	all := make([]stored, len(found))
	for i, d := range found {
		all[i].version = d.Version
		if d.Version == 0 {
			continue
		}
		if err := json.Unmarshal(d.Body, &all[i].position); err != nil {
			return nil, fmt.Errorf("sink: the position at %s cannot be read: %w", keys[i], err)
		}
	}
	return all, nil
}

// save puts a position in place of the version that was read.
func (p positions) save(ctx context.Context, subject string, now position, version uint64) error {
	return put(ctx, p.store, p.key(subject), now, version)
}

func put(ctx context.Context, store document.Store, name string, body any, version uint64) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	write := document.Write{Key: name, Expect: version, Body: encoded}
	if _, err := rand.Read(write.ID[:]); err != nil {
		return err
	}
	return store.Put(ctx, write)
}

// birth is, in place of a subject, whether positions say what the sink knows.
const birth = "birth"

// Forget has each sink of an extension in an environment begin like a new one at the
// next start: what is there then counts as delivered, but for subjects whose positions
// the store has. It is for whoever puts into the store what others have delivered long
// ago, before doing so, and while no process serves the extension's sinks.
func Forget(ctx context.Context, store Keeper, environment, extension string) error {
	var births []string
	for name, err := range store.Keys(ctx, key.Join(Kind, environment, extension)+"/") {
		if err != nil {
			return err
		}
		// The names of subjects and lanes have more parts, or other last ones.
		if strings.HasSuffix(name, "/at/"+birth) || strings.HasSuffix(name, "/lane/"+birth) {
			births = append(births, name)
		}
	}
	for _, name := range births {
		if err := store.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Keeper is a store as Forget sees it.
type Keeper interface {
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
	Delete(ctx context.Context, key string) error
}

// ReadPosition returns the subject whose position is stored at a key of this kind, and
// how far its stream or document has come at least. The subject is empty where
// something else is stored.
func ReadPosition(name string, body []byte) (subject string, head uint64, err error) {
	parts := strings.SplitN(name, "/", 7) // as a worker makes them
	if len(parts) < 7 || parts[5] != "at" || parts[6] == birth {
		return "", 0, nil
	}
	var at position
	err = json.Unmarshal(body, &at)
	return parts[6], at.Head, err
}
