package voting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// List is a poll's list of public entries as it was read.
type List struct {
	TreeHead
	// Config is the configuration in force, nil after a reset.
	Config *Config
	// Listed is the latest vote of the voter who was asked for, nil for none.
	Listed *Listed

	poll   Poll
	phases []hiddenPhase
	end    uint64 // number of the log's last chunk
}

// ReadList returns the list of a poll, nil of one that has none, with the latest vote of a voter
// unless that is zero.
func (s *Service) ReadList(ctx context.Context, p Poll, v Voter) (*List, error) {
	query := listQuery{}
	if v != (Voter{}) {
		query.Voter = &v
	}
	return s.readList(ctx, p, query)
}

// ReadListOf returns the list of a poll with an id, if it is the newest one or the one before, and nil
// of any other.
func (s *Service) ReadListOf(ctx context.Context, p Poll, tree verifiable.TreeID) (*List, error) {
	return s.readList(ctx, p, listQuery{Tree: &tree})
}

func (s *Service) readList(ctx context.Context, p Poll, query listQuery) (*List, error) {
	answer, head, err := s.engine.ViewFrom(ctx, stream.LevelVerifiable, p.Stream(), query)
	if err != nil || answer.list == nil || answer.list.Head == nil {
		return nil, err
	}
	a := answer.list
	return &List{TreeHead: *a.Head, Config: a.Config, Listed: a.Listed, poll: p, phases: a.Phases, end: head.Seq}, nil
}

// ListTile returns the hashes of a tile above the lowest level of a poll's list.
func (s *Service) ListTile(ctx context.Context, l *List, level int, n int64, width int) ([]tlog.Hash, error) {
	answer, _, err := s.engine.ViewFrom(ctx, stream.LevelVerifiable, l.poll.Stream(), listQuery{Tree: &l.Tree, Tile: &tileRequest{level, n, width}})
	if err == nil && (answer.list == nil || answer.list.Tile == nil) {
		err = errNoEntries
	}
	if err != nil {
		return nil, err
	}
	return answer.list.Tile, nil
}

// maxGrowths bounds the queries by which one request lets a ballot tree grow: it waits a second or so.
const maxGrowths = 16

// ReadResult returns the list of a poll, nil of one that has none, with the ballot tree of its final
// result. A large tree is Growing: the next request goes on.
func (s *Service) ReadResult(ctx context.Context, p Poll) (l *List, err error) {
	for range maxGrowths {
		if l, err = s.readList(ctx, p, listQuery{Ballots: true}); err != nil || l == nil || !l.Growing {
			break
		}
	}
	return l, err
}

// ListBallot returns the proof of the ballot of a voter in a final result. While its tree grows, the
// error is of kind fault.Unavailable.
func (s *Service) ListBallot(ctx context.Context, p Poll, voter int64) ([]byte, error) {
	switch l, err := s.ReadResult(ctx, p); {
	case err != nil:
		return nil, err
	case l == nil:
		return nil, errNoEntries
	case l.Growing:
		return nil, fault.Wrap(fault.Unavailable, errors.New("the ballot tree grows"), "voting")
	}
	answer, _, err := s.engine.ViewFrom(ctx, stream.LevelVerifiable, p.Stream(), listQuery{Ballot: &voter})
	if err == nil && (answer.list == nil || answer.list.Ballot == nil) {
		err = errNoEntries
	}
	if err != nil {
		return nil, err
	}
	return answer.list.Ballot, nil
}

// CloseList closes a poll whose end has passed, if it has a list that is open.
func (s *Service) CloseList(ctx context.Context, p Poll) error {
	_, err := s.engine.DoFrom(ctx, stream.LevelVerifiable, p.Stream(), concludeCommand{})
	return err
}

var errNoEntries = fault.New(fault.NotFound, "No such entries")

// Pruned is the error for entries that the log has not got any more.
type Pruned struct {
	Minimum int64 // index of the first entry that it has
}

// Error implements error.
func (p *Pruned) Error() string { return fmt.Sprintf("the log has the entries from %d on", p.Minimum) }

// Unwrap returns what callers without interest in the index see.
func (p *Pruned) Unwrap() error { return errNoEntries }

// IsHidden reports whether leaves from an index on, and before another one, are of a hidden phase
// that nothing has revealed.
func (l *List) IsHidden(from, until int64) bool {
	for _, phase := range l.phases {
		if (phase.Until == 0 || phase.Until > l.Entries.N) && phase.From+1 < until {
			return true
		}
	}
	return false
}

// Leaves calls visit with the data of the leaves from an index on, in order, and before another one.
// It reads the log. The error is [Pruned] where the log has not got the first of them any more. The
// data is valid during the call.
func (s *Service) Leaves(ctx context.Context, l *List, from, until int64, visit func(index int64, data []byte)) error {
	begin, err := s.findChunk(ctx, l, from)
	if err != nil {
		return err
	}
	r := leafReader{list: l, from: from, until: until, visit: visit}
	for chunk, err := range s.engine.Chunks(ctx, l.poll.Stream(), begin-1) {
		if err != nil {
			return err
		}
		for entry, err := range s.engine.Entries(&chunk) {
			if err != nil {
				return fault.Wrap(fault.Storage, err, "the log is damaged")
			}
			if r.read(entry, chunk.At); r.found && (r.next >= until || r.begin > from) {
				return r.missed()
			}
		}
	}
	if from < l.Entries.N {
		return &Pruned{l.Entries.N} // it has none
	}
	return errNoEntries
}

// leafReader makes the leaves of a span of a list from the entries of a log.
type leafReader struct {
	entryLister
	list        *List
	from, until int64
	visit       func(index int64, data []byte)
	found       bool  // the place in the list is known
	begin       int64 // index of the first leaf that the entries have
}

func (r *leafReader) read(e Entry, at int64) {
	if !r.found {
		if r.entryLister, r.found = r.list.listerAt(e); !r.found {
			return
		}
		r.begin = r.next
	}
	index := r.next
	r.entryLister.list(e, at, func(data []byte, key *verifiable.SaltKey) {
		if r.from <= index && index < r.until {
			r.visit(index, hideIn(key, index, data))
		}
		index++
	})
}

// missed returns an error if the log has not got the first of the leaves any more.
func (r *leafReader) missed() error {
	if r.begin > r.from {
		return &Pruned{r.begin}
	}
	return nil
}

// listerAt returns what makes leaves from an entry on, if the entry says where in the list it is.
func (l *List) listerAt(e Entry) (entryLister, bool) {
	if config, ok := e.(*listedConfig); ok && config.begin != nil && config.begin.tree == l.Tree {
		return entryLister{}, true
	}
	place := placeOf(e)
	if place == nil || place.ordinal != l.Ordinal {
		return entryLister{}, false
	}
	return entryLister{next: place.index, config: place.config, key: l.keyAt(place.index)}, true
}

// keyAt returns the salt key of the hidden phase that an index is in, nil for none.
func (l *List) keyAt(index int64) *verifiable.SaltKey {
	for _, phase := range l.phases {
		if phase.From < index && (phase.Until == 0 || index < phase.Until) {
			return phase.Key
		}
	}
	return nil
}

// findChunk returns the number of the last chunk that begins no later than the leaf with an index.
func (s *Service) findChunk(ctx context.Context, l *List, index int64) (seq uint64, err error) {
	low, high := uint64(1), l.end
	for low < high {
		middle := low + (high-low+1)/2
		at, place, err := s.nextPlace(ctx, l.poll, middle, high)
		switch {
		case err != nil:
			return 0, err
		case place != nil && (place.ordinal < l.Ordinal || place.ordinal == l.Ordinal && place.index <= index):
			low = at
		default:
			high = middle - 1
		}
	}
	return low, nil
}

// nextPlace returns the place that the first chunk from a number on, up to another one, has in a
// list, and the chunk's number, and nil where there is none.
func (s *Service) nextPlace(ctx context.Context, p Poll, from, until uint64) (seq uint64, place *listPlace, err error) {
	for chunk, err := range s.engine.Chunks(ctx, p.Stream(), from-1) {
		if err != nil || chunk.Seq > until {
			return 0, nil, err
		}
		for entry, err := range s.engine.Entries(&chunk) {
			if err != nil {
				return 0, nil, fault.Wrap(fault.Storage, err, "the log is damaged")
			}
			if place := placeOf(entry); place != nil {
				return chunk.Seq, place, nil
			}
		}
	}
	return 0, nil, nil
}

// Poll returns the poll that has the list.
func (l *List) Poll() Poll { return l.poll }

// KeepUntil returns the time in Unix seconds until which the entries of a final list stay.
func (l *List) KeepUntil() int64 { return time.UnixMilli(l.At).Add(l.Rules().Keep).Unix() }

// IsSmall reports whether the entries stay secret because few people voted, or because a viewer was
// erased while few had: the entries of an erased viewer must not become public afterwards.
func (l *List) IsSmall() bool { return l.ErasedSmall || l.Voters < l.Rules().MinVoters }

// Rules returns the rules of the list. One that has ended has the default ones: the configuration in
// force is of another list.
func (l *List) Rules() ListRules {
	if l.Config == nil || l.Status >= verifiable.TreeReset {
		return (&Config{}).listRules()
	}
	return l.Config.listRules()
}
