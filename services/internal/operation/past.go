package operation

import (
	"context"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// An answer about the past is kept for a moment where it took long to find. Together the kept
// ones have so many points, of 1 KB each.
const (
	keepPastFor   = 3 * time.Second
	longFold      = 100 * time.Millisecond
	maxPastPoints = 4000
)

// pastQuestion is a question about the past of a poll. Callers with equal questions get equal
// answers, if the results are not hidden from them.
type pastQuestion struct {
	stream   string
	audience bool
	resets   uint64 // that an audience knows of
	at       int64
	voter    voting.Voter // of a question with at, whose answer has the voter's vote
	wanted   voting.HistoryRange
}

// pastAnswers let equal questions about the past share one answer.
type pastAnswers struct {
	mu     sync.Mutex
	open   map[pastQuestion]*pastAnswer // those that are being found, and those that are kept
	points int                          // of those that are kept
}

// pastAnswer is an answer, once done is closed.
type pastAnswer struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int // callers; pastAnswers.mu guards it

	history voting.History
	tally   voting.Tally
	err     error
}

func newPastAnswers() *pastAnswers { return &pastAnswers{open: map[pastQuestion]*pastAnswer{}} }

// ask returns the answer to a question. The first of several callers at one time admits the
// search, whose refusal is its own, and finds the answer for all. The search ends early when
// all of them are gone.
func (p *pastAnswers) ask(ctx context.Context, q pastQuestion, admit func() (release func(), err error), find func(context.Context, *pastAnswer) error) (*pastAnswer, error) {
	p.mu.Lock()
	if a := p.open[q]; a != nil {
		a.waiting++
		p.mu.Unlock()
		return p.wait(ctx, q, a)
	}
	release, err := admit()
	if err != nil {
		p.mu.Unlock()
		return nil, err
	}
	shared, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := &pastAnswer{done: make(chan struct{}), cancel: cancel, waiting: 1, err: errNoAnswer()}
	p.open[q] = a
	p.mu.Unlock()
	defer release()
	defer context.AfterFunc(ctx, func() { p.leave(q, a) })()
	began := time.Now()
	defer func() { p.finish(q, a, time.Since(began)) }() // after a panic, too
	a.err = find(shared, a)
	return a, a.err
}

func errNoAnswer() error { return fault.New(fault.Internal, "the log was not folded") }

// wait waits for an answer that another caller finds.
func (p *pastAnswers) wait(ctx context.Context, q pastQuestion, a *pastAnswer) (*pastAnswer, error) {
	select {
	case <-a.done:
		return a, a.err
	case <-ctx.Done():
		p.leave(q, a)
		return nil, fault.Wrap(fault.Unavailable, ctx.Err(), "The request ended before its answer")
	}
}

// leave counts a caller out. An answer for no caller is not looked for.
func (p *pastAnswers) leave(q pastQuestion, a *pastAnswer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.waiting--; a.waiting > 0 {
		return
	}
	a.cancel()
	if p.open[q] == a {
		select {
		case <-a.done: // it is kept
		default:
			delete(p.open, q)
		}
	}
}

// finish hands an answer out, and keeps it if it took long and there is room.
func (p *pastAnswers) finish(q pastQuestion, a *pastAnswer, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a.cancel()
	close(a.done)
	points := 1 + len(a.history.Points)
	switch {
	case p.open[q] != a:
	case a.err != nil || took < longFold || p.points+points > maxPastPoints:
		delete(p.open, q)
	default:
		p.points += points
		time.AfterFunc(keepPastFor, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.points -= points
			delete(p.open, q)
		})
	}
}
