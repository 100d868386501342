package peer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

const (
	// askAgain is the least time between two questions to a member: what it writes meanwhile
	// comes in one answer.
	askAgain = 25 * time.Millisecond
	// askTimeout limits the time for an answer, which a member that is slow gives signs of
	// life for.
	askTimeout = 10 * time.Second
	// settleAfter is the time after the end of a member in which writes may come that it has
	// not reported: requests that it finishes before it exits, or an insert that the
	// database gets late.
	settleAfter = 30 * time.Second
)

// RecordWrite notes that a stream has reached a sequence number or a document a version, so
// that the other members learn of it by [Node.Watch]. It returns at once.
func (n *Node) RecordWrite(name string, place uint64) { n.written.record(name, place) }

// Watch calls notify with what any other member writes, soon after the write is durable, until
// ctx is done. It asks each of them, and none while it has nothing to say. It calls watching
// with nil when notify gets all writes from then on (earlier ones may have been missed), and
// with an error when it may not: while a member cannot be asked, for half a minute after one
// has gone, and while this process is not a member. Calls of notify come from several
// goroutines. Neither may block.
//
// What processes write that are no members, such as commands that work on a database, is left out.
func (n *Node) Watch(ctx context.Context, notify func(name string, place uint64), watching func(error)) error {
	w := &memberWatch{node: n, notify: notify, watching: watching, asked: map[string]*askedMember{}, reports: make(chan askedReport)}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	ctx, cancel := context.WithCancel(ctx)
	defer w.end(cancel)
	for {
		w.adjust(ctx, time.Now())
		w.report(time.Now())
		select {
		case <-ticker.C:
		case r := <-w.reports:
			w.note(r)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// memberWatch is a call of [Node.Watch]. One goroutine uses it.
type memberWatch struct {
	node     *Node
	notify   func(name string, place uint64)
	watching func(error)
	asked    map[string]*askedMember // by the member's ID
	reports  chan askedReport
	running  int // goroutines that ask

	departed time.Time // when a member was last found to have gone
	complete bool      // the last call of watching said so
	lost     bool      // a member has forgotten writes since
}

// askedMember is a member that is asked what it has written.
type askedMember struct {
	stop context.CancelFunc
	err  error // nil while it answers
}

// askedReport reports whether a member answers.
type askedReport struct {
	member *askedMember
	err    error
	lost   bool
	ended  bool
}

var (
	errNotAsked  = errors.New("peer: a member was not asked yet what it has written")
	errNotMember = errors.New("peer: this process is no member")
	errDeparted  = errors.New("peer: a member has gone a short while ago")
	errOldMember = errors.New("peer: a member of an earlier release does not say what it has written")
)

// adjust begins to ask new members, and ends with those that have gone.
func (w *memberWatch) adjust(ctx context.Context, now time.Time) {
	view := w.node.view.Load()
	for id, a := range w.asked {
		if !view.hasMember(id) {
			a.stop()
			delete(w.asked, id)
			w.departed = now
		}
	}
	for _, k := range view.members {
		if k.link == nil || w.asked[k.ID] != nil {
			continue
		}
		asking, stop := context.WithCancel(ctx)
		a := &askedMember{stop: stop, err: errNotAsked}
		if w.asked[k.ID] = a; k.Level < stream.LevelWritten {
			a.err = errOldMember
			continue
		}
		w.running++
		go w.ask(asking, a, k.link)
	}
}

// note takes a report.
func (w *memberWatch) note(r askedReport) {
	if r.ended {
		w.running--
		return
	}
	r.member.err = r.err
	w.lost = w.lost || r.lost
}

// report calls watching where what it said is not so any more.
func (w *memberWatch) report(now time.Time) {
	err := w.incomplete(now)
	switch {
	case err != nil && w.complete:
		w.complete = false
		w.watching(err)
	case err == nil && (!w.complete || w.lost):
		w.complete, w.lost = true, false
		w.watching(nil)
	}
}

// incomplete returns why notify may not get all writes, or nil.
func (w *memberWatch) incomplete(now time.Time) error {
	if !w.node.view.Load().hasMember(w.node.self.ID) {
		return errNotMember
	}
	if !w.departed.IsZero() && now.Sub(w.departed) < settleAfter {
		return errDeparted
	}
	for _, a := range w.asked {
		if a.err != nil {
			return a.err
		}
	}
	return nil
}

// ask asks a member again and again until ctx is done. It reports when the member begins to
// answer, ends to, or has forgotten writes.
func (w *memberWatch) ask(ctx context.Context, a *askedMember, link *memberLink) {
	defer func() { w.reports <- askedReport{member: a, ended: true} }()
	answers := false
	for after := uint64(0); ; {
		last, lost, err := link.askWritten(ctx, after, w.notify)
		if ctx.Err() != nil {
			return
		}
		wait := askAgain
		if err == nil {
			after = last
		} else {
			wait = heartbeatInterval
		}
		if was := answers; was != (err == nil) || lost {
			answers = err == nil
			w.reports <- askedReport{member: a, err: err, lost: lost}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// askWritten asks for the writes after one. That the member does not answer says nothing of
// what else it serves.
func (l *memberLink) askWritten(ctx context.Context, after uint64, notify func(name string, place uint64)) (last uint64, lost bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var answer []byte
	err = l.exchange(ctx, requestHeader{engine: writtenEngine}, binary.AppendUvarint(nil, after), func(part []byte) { answer = append(answer, part...) })
	if err != nil {
		return 0, false, fmt.Errorf("ask a process what it has written: %w", err)
	}
	l.used.Store(true)
	return decodeWritten(answer, notify)
}

// end stops all goroutines and waits for them.
func (w *memberWatch) end(cancel context.CancelFunc) {
	for cancel(); w.running > 0; {
		w.note(<-w.reports)
	}
}
