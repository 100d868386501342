package stream_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
)

type ledgerInput struct {
	stream string
	post   ledger.Post
	read   bool
	erase  bool // the viewer of post
	// keyed repeats the command with one key until its outcome is known.
	keyed bool
}

type ledgerOutput struct {
	sum     int64
	refused bool // by the limit
	failed  bool // nothing happened
	unknown bool // the outcome is unknown
	// repeated is set if the log had the key of the command: it is there once.
	repeated bool
}

func (in ledgerInput) viewer() rewrite.Viewer {
	if in.post.Who == "" {
		return rewrite.Viewer{}
	}
	return rewrite.Viewer{IDs: []string{in.post.Who}}
}

func (in ledgerInput) do(ctx context.Context, engine *ledger.Engine) (out ledgerOutput) {
	var err error
	if in.erase {
		// One that fails may go on, or have been far enough to count.
		_, err = engine.Erase(ctx, in.stream, in.viewer())
		out.unknown = err != nil
		return out
	}
	if in.read {
		out.sum, err = engine.View(ctx, in.stream, ledger.SumQuery)
		out.failed = err != nil
		return out
	}
	var keys []*once.Key
	if in.keyed {
		scope := once.NewScope([][]byte{[]byte("secret")}, time.Now(), in.stream)
		keys = []*once.Key{scope.NewKey(fmt.Sprint(in.post.ID), nil)}
	}
	out.sum, err = engine.Do(ctx, in.stream, in.post, keys...)
	if err == nil && in.keyed && keys[0].Replayed {
		return ledgerOutput{unknown: true, repeated: true}
	}
	switch fault.KindOf(err) {
	case fault.Invalid:
		out.refused = true
	case fault.Storage, fault.Unavailable:
		out.failed = true
	default:
		out.unknown = err != nil
	}
	return out
}

// operation is one call of a client with its result, between two moments.
type operation struct {
	in           ledgerInput
	out          ledgerOutput
	call, finish int64
}

// linearization is the order of one stream's commands that its log proves. So whether a
// history is linearizable is checked in one pass, without a search: the log gives the
// place of every command that it holds, those of unknown outcome included, and every
// other operation changes nothing.
//
// Place 2k is entry k, which makes the state after k-1 entries that after k; place 2k+1
// is between entries k and k+1.
type linearization struct {
	states  []ledgerTotals // after each number of entries
	entries []logEntry     // from 1
	places  map[uint64]int // of the commands
}

// logEntry is a command, or the erasure of viewers.
type logEntry struct {
	post   ledger.Post
	erased []string
}

// ledgerTotals are a ledger as the model has it.
type ledgerTotals struct {
	sum   int64
	given [len(ledger.Viewers)]int64
}

func newLinearization() *linearization {
	return &linearization{states: make([]ledgerTotals, 1), entries: make([]logEntry, 1), places: map[uint64]int{}}
}

// add appends an entry of the log.
func (l *linearization) add(e logEntry) {
	after := l.states[len(l.states)-1]
	switch {
	case len(e.erased) > 0:
		for _, id := range e.erased {
			after.given[slices.Index(ledger.Viewers[:], id)] = 0
		}
	default:
		after, _ = after.post(e.post)
		l.places[e.post.ID] = 2 * len(l.entries)
	}
	l.states, l.entries = append(l.states, after), append(l.entries, e)
}

// post returns the totals after a command, and whether it passes a limit.
func (s ledgerTotals) post(p ledger.Post) (after ledgerTotals, over bool) {
	if p.Amount == 0 {
		return ledgerTotals{}, s.isOver(p)
	}
	over = s.isOver(p)
	s.sum += p.Amount
	if p.Who != "" {
		s.given[slices.Index(ledger.Viewers[:], p.Who)] += p.Amount
	}
	return s, over
}

func (s ledgerTotals) isOver(p ledger.Post) bool {
	who := slices.Index(ledger.Viewers[:], p.Who)
	return s.sum+p.Amount > ledger.Limit || who > 0 && s.given[who]+p.Amount > ledger.ViewerLimit
}

// wantLinearizable checks that each operation has a place that explains its answer, and
// that none has a place before that of an operation that had ended before it began. An
// operation gets the first such place: any later one would only leave less to those after
// it.
func (l *linearization) wantLinearizable(t *testing.T, history []operation) {
	t.Helper()
	slices.SortFunc(history, func(a, b operation) int { return cmp.Compare(a.call, b.call) })
	taken := make([]int, len(history))
	for i, op := range history {
		from := 1
		for j, before := range history[:i] {
			if before.finish < op.call {
				from = max(from, taken[j])
			}
		}
		at, err := l.placeOf(&op, from)
		if err != nil {
			t.Errorf("the history is not linearizable: %+v answered %+v: %v", op.in, op.out, err)
			return
		}
		taken[i] = at
	}
}

// placeOf returns the first place of an operation that is not before another place.
func (l *linearization) placeOf(op *operation, from int) (int, error) {
	if at, logged := l.places[op.in.post.ID]; logged && !op.in.read && !op.in.erase {
		after, over := l.states[at/2-1].post(op.in.post)
		switch {
		case at < from:
			return 0, fmt.Errorf("it is at place %d of the log, and began after place %d", at, from)
		case over || !op.out.unknown && op.out.sum != after.sum:
			return 0, fmt.Errorf("at its place of the log it makes %+v, over a limit: %t", after, over)
		}
		return at, nil
	}
	for at := from; at < 2*len(l.states); at++ {
		if l.explains(at, op) {
			return at, nil
		}
	}
	return 0, fmt.Errorf("no state from place %d of %d gives that answer", from, 2*len(l.states)-1)
}

// explains reports whether an operation that is no entry of the log can have its answer
// at a place.
func (l *linearization) explains(at int, op *operation) bool {
	state, between := l.states[at/2], at%2 == 1
	switch in := op.in; {
	case op.out.failed, op.out.unknown:
		return true // nothing happened
	case in.erase && !between:
		return slices.Contains(l.entries[at/2].erased, in.post.Who)
	case in.erase: // there was nothing to erase
		return in.post.Who == "" || state.given[slices.Index(ledger.Viewers[:], in.post.Who)] == 0
	case in.read:
		return between && op.out.sum == state.sum
	}
	return between && op.out.refused && state.isOver(op.in.post)
}
