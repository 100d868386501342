// Package match is the domain of matches: named sets of channels of an extension that a game's
// server polls together.
//
// One document of the extension lists its matches and when each was last named; each match has
// a further one with its channels and its polls. So any process serves any match. Votes are not
// here: each channel has a poll of its own.
//
// The package may not know HTTP or a database, has no clock of its own and imports no other
// domain.
package match

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// maxBytes limits a document.
const maxBytes = 1 << 20

// Name names a match.
type Name struct{ Environment, Extension, ID string }

// Match holds what is polled together.
type Match struct {
	// Channels are distinct, in the order of their addition.
	Channels []string        `json:"channels,omitempty"`
	Polls    map[string]Poll `json:"polls,omitempty"`
}

// Poll is the configuration of a poll that each channel has.
type Poll struct {
	Config json.RawMessage `json:"config"`
	// Starts and Ends are those of Config, in Unix seconds, 0 where there is none.
	Starts int64 `json:"starts,omitempty"`
	Ends   int64 `json:"ends,omitempty"`
	// Round tells the polls apart that have the same id one after the other.
	Round string `json:"round"`
}

// Service answers for the matches of a store.
type Service struct{ documents *document.Service }

// NewService returns a service over documents, which its owner closes.
func NewService(documents *document.Service) *Service { return &Service{documents} }

// matchIndex is the document of an extension, by the ids of matches.
type matchIndex map[string]indexEntry

type indexEntry struct {
	// Document is the id of the match's document. It is never used again, so that the document
	// of a match that has lapsed can be deleted whatever follows.
	Document string `json:"document"`
	Named    int64  `json:"named"`          // last, in Unix milliseconds
	Ends     int64  `json:"ends,omitempty"` // the last poll, in Unix seconds
}

func (e indexEntry) hasLapsed(now time.Time) bool {
	return max(e.Named/1000, e.Ends) <= now.Add(-contract.MatchLapse).Unix()
}

// dropLapsed removes the matches that have lapsed and returns their documents.
func (x matchIndex) dropLapsed(now time.Time) (gone []string) {
	for id, entry := range x {
		if entry.hasLapsed(now) {
			gone = append(gone, entry.Document)
			delete(x, id)
		}
	}
	return gone
}

func (n Name) index() string {
	return key.Name{Kind: key.Document, Environment: n.Environment, Extension: n.Extension, Scope: key.Matches}.String()
}

func (n Name) document(id string) string {
	return key.Name{Kind: key.Document, Environment: n.Environment, Extension: n.Extension, Scope: key.Match, ID: id}.String()
}

func errUnknown() error { return fault.New(fault.NotFound, "No such match") }

// Create makes a match without channels. One that exists stays as it is.
func (s *Service) Create(ctx context.Context, n Name, now time.Time) error {
	if n.ID == "" || len(n.ID) > contract.MaxMatchID {
		return fault.Newf(fault.Invalid, "id must have 1 to %d bytes", contract.MaxMatchID)
	}
	_, err := s.editIndex(ctx, n, now, func(x matchIndex) error {
		entry, ok := x[n.ID]
		if !ok {
			if len(x) >= contract.MaxMatches {
				return fault.Newf(fault.Invalid, "An extension has at most %d matches", contract.MaxMatches)
			}
			entry.Document = rand.Text()
		}
		entry.Named = now.UnixMilli()
		x[n.ID] = entry
		return nil
	})
	return err
}

// Keep notes that a request named the match. An unknown match is fault.NotFound, here and in
// the functions below, which note that too.
func (s *Service) Keep(ctx context.Context, n Name, now time.Time) error {
	_, err := s.keep(ctx, n, now, func(*indexEntry) {})
	return err
}

func (s *Service) keep(ctx context.Context, n Name, now time.Time, change func(*indexEntry)) (indexEntry, error) {
	return s.editIndex(ctx, n, now, func(x matchIndex) error {
		entry, ok := x[n.ID]
		if !ok {
			return errUnknown()
		}
		entry.Named = now.UnixMilli()
		change(&entry)
		x[n.ID] = entry
		return nil
	})
}

// editIndex changes the index without the matches that have lapsed and returns the entry of n.
func (s *Service) editIndex(ctx context.Context, n Name, now time.Time, change func(matchIndex) error) (entry indexEntry, err error) {
	var gone []string
	err = edit(ctx, s, n.index(), func(x *matchIndex) error {
		if *x == nil {
			*x = matchIndex{}
		}
		gone = x.dropLapsed(now)
		err := change(*x)
		entry = (*x)[n.ID]
		return err
	})
	if err != nil {
		return entry, err
	}
	for _, id := range gone {
		_ = s.documents.Delete(ctx, n.document(id)) // without success it only takes space
	}
	return entry, nil
}

// Read returns a match. That does not keep it.
func (s *Service) Read(ctx context.Context, n Name, now time.Time) (m Match, err error) {
	index, err := document.ReadRecord[matchIndex](ctx, s.documents, n.index())
	if err != nil {
		return m, err
	}
	entry, ok := index[n.ID]
	if !ok || entry.hasLapsed(now) {
		return m, errUnknown()
	}
	return document.ReadRecord[Match](ctx, s.documents, n.document(entry.Document))
}

// AddChannels adds channels and returns the match and those that it did not have.
func (s *Service) AddChannels(ctx context.Context, n Name, ids []string, now time.Time) (m Match, added []string, err error) {
	for _, id := range ids {
		if id == "" || len(id) > contract.MaxMatchID {
			return m, nil, fault.Newf(fault.Invalid, "channel_ids must have 1 to %d bytes each", contract.MaxMatchID)
		}
	}
	m, err = s.editMatch(ctx, n, now, func(m *Match) error {
		added = nil
		have := map[string]bool{}
		for _, id := range m.Channels {
			have[id] = true
		}
		for _, id := range ids {
			if !have[id] {
				have[id] = true
				added = append(added, id)
			}
		}
		if m.Channels = append(m.Channels, added...); len(m.Channels) > contract.MaxMatchChannels {
			return fault.Newf(fault.Invalid, "A match has at most %d channels", contract.MaxMatchChannels)
		}
		return nil
	})
	return m, added, err
}

// RemoveChannels removes channels, whose polls stay.
func (s *Service) RemoveChannels(ctx context.Context, n Name, ids []string, now time.Time) error {
	_, err := s.editMatch(ctx, n, now, func(m *Match) error {
		gone := map[string]bool{}
		for _, id := range ids {
			gone[id] = true
		}
		m.Channels = slices.DeleteFunc(m.Channels, func(id string) bool { return gone[id] })
		return nil
	})
	return err
}

// Named returns the match after noting that a request named it.
func (s *Service) Named(ctx context.Context, n Name, now time.Time) (Match, error) {
	if err := s.Keep(ctx, n, now); err != nil {
		return Match{}, err
	}
	return s.Read(ctx, n, now)
}

// SetPoll stores the configuration of a poll and returns the match. Where the match is full, the poll
// replaces one that has ended.
func (s *Service) SetPoll(ctx context.Context, n Name, id string, p Poll, now time.Time) (Match, error) {
	return s.editMatch(ctx, n, now, func(m *Match) error {
		if m.Polls == nil {
			m.Polls = map[string]Poll{}
		}
		m.Polls[id] = p
		if len(m.Polls) <= contract.MaxMatchPolls {
			return nil
		}
		for other, old := range m.Polls {
			if other != id && old.Ends != 0 && old.Ends <= now.Unix() {
				delete(m.Polls, other)
				return nil
			}
		}
		return fault.Newf(fault.Invalid, "A match has at most %d polls that have not ended", contract.MaxMatchPolls)
	})
}

// ChangePoll stores what change makes of a poll, and returns the match. A poll that the match
// does not have is fault.NotFound. change may run several times.
func (s *Service) ChangePoll(ctx context.Context, n Name, id string, now time.Time, change func(Poll) (Poll, error)) (Match, error) {
	return s.editMatch(ctx, n, now, func(m *Match) error {
		before, ok := m.Polls[id]
		if !ok {
			return fault.New(fault.NotFound, "No such poll")
		}
		after, err := change(before)
		if err == nil {
			m.Polls[id] = after
		}
		return err
	})
}

// DeletePoll removes a poll, if there is one, and returns the match.
func (s *Service) DeletePoll(ctx context.Context, n Name, id string, now time.Time) (Match, error) {
	return s.editMatch(ctx, n, now, func(m *Match) error {
		delete(m.Polls, id)
		return nil
	})
}

// editMatch changes a match and returns it. change may run several times.
func (s *Service) editMatch(ctx context.Context, n Name, now time.Time, change func(*Match) error) (m Match, err error) {
	entry, err := s.keep(ctx, n, now, func(*indexEntry) {})
	if err != nil {
		return m, err
	}
	err = edit(ctx, s, n.document(entry.Document), func(stored *Match) error {
		err := change(stored)
		m = *stored
		return err
	})
	if err != nil {
		return m, err
	}
	if ends := m.lastEnd(); ends != entry.Ends {
		_, err = s.keep(ctx, n, now, func(e *indexEntry) { e.Ends = ends })
	}
	return m, err
}

func (m Match) lastEnd() (ends int64) {
	for p := range maps.Values(m.Polls) {
		ends = max(ends, p.Ends)
	}
	return ends
}

// edit changes a document of the type T. change may run several times.
func edit[T any](ctx context.Context, s *Service, name string, change func(*T) error) error {
	_, err := s.documents.Edit(ctx, document.Edit{Key: name, MaxBytes: maxBytes, Change: document.ComputeRecord(change)})
	return err
}
