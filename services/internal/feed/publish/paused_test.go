package publish

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/services/voting"
)

// pausedMark pauses a process between its look at the log and its mark, as a stopped process is.
type pausedMark struct {
	Mark
	paused, resume chan struct{}
}

func (m *pausedMark) Replace(ctx context.Context, old Marked, text []byte) (Marked, error) {
	if m.paused != nil {
		close(m.paused)
		m.paused = nil
		<-m.resume
	}
	return m.Mark.Replace(ctx, old, text)
}

// servedCheckpoints collects what processes serve.
type servedCheckpoints struct {
	t     *testing.T
	trees map[tlog.Tree]string
}

func (c *servedCheckpoints) serve(w *world, name string) {
	c.t.Helper()
	file, err := w.ReadFile(c.t.Context(), "checkpoint")
	w.must(err)
	keys := w.keys()
	tree, err := keys.Open(file.Data, keys.Origin())
	w.must(err)
	c.trees[tree] = name
	if log, err := w.log.Read(c.t.Context()); err != nil || log.Tree != tree {
		c.t.Errorf("the %s signer serves %d leaves of %d, %v", name, tree.N, log.Tree.N, err)
	}
}

// check fails unless the log of a process continues every checkpoint.
func (c *servedCheckpoints) check(w *world) {
	c.t.Helper()
	log, err := w.log.Read(c.t.Context())
	w.must(err)
	for tree, name := range c.trees {
		root, err := tlog.TreeHash(tree.N, tlog.TileHashReader(log.Tree, w.logTiles(c.t.Context())))
		if err != nil || root != tree.Hash {
			c.t.Errorf("the log does not continue the checkpoint of %d leaves of the %s signer, %v", tree.N, name, err)
		}
	}
}

// A signer that is paused for a minute while it signs, with a clock that is an hour off, contradicts no
// other one, and does not make the mark forget what the other one signed.
func TestPausedSigner(t *testing.T) {
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			w := newWorld(t)
			w.configure("p", voting.Config{})
			w.vote("p", "a", 1)
			w.round()
			_, early := w.receipt("p", "a", 1)
			served := &servedCheckpoints{t, map[tlog.Tree]string{}}
			served.serve(w, "first")

			mark := &pausedMark{w.mark, make(chan struct{}), make(chan struct{})}
			paused, signed := mark.paused, make(chan error)
			other := &world{t: t, store: w.store, clock: &movedClock{ahead: ahead}, mark: w.mark}
			other.start()
			other.Mark = mark
			w.vote("p", "b", 1)
			w.round() // the log has moved since it was marked
			go func() {
				_, err := other.signLog(t.Context(), 0)
				signed <- err
			}()
			<-paused
			before := w.copyStore()
			for i := range 3 {
				w.clock.pass(20 * time.Second)
				w.vote("p", fmt.Sprint("later", i), 1)
				w.round()
				served.serve(w, "first")
			}
			close(mark.resume)
			w.must(<-signed)
			served.serve(other, "paused")
			other.vote("p", "last", 0)
			other.round()
			served.serve(other, "paused")
			other.clock.pass(-2 * time.Hour)
			other.vote("p", "after the clock was set", 0)
			other.round()
			served.serve(other, "paused")
			w.clock.pass(time.Minute)
			served.serve(w, "first")
			served.check(w)
			if report := w.check(early); len(report.Findings) > 0 {
				t.Errorf("a receipt from before the pause: %+v", report)
			}

			old := w.keys().Origin()
			rolledBack := &world{t: t, store: before, clock: w.clock, mark: w.mark}
			rolledBack.start()
			rolledBack.round()
			if origin := rolledBack.keys().Origin(); origin == old {
				t.Errorf("a store without what the other signer signed goes on as %s", origin)
			}
		})
	}
}

// The mark is not set back for longer than a signer needs to see that.
func TestPausedSignerLeavesTheMark(t *testing.T) {
	w := newWorld(t)
	w.configure("p", voting.Config{})
	w.round()
	mark := &pausedMark{w.mark, make(chan struct{}), make(chan struct{})}
	paused, signed := mark.paused, make(chan error)
	other := &world{t: t, store: w.store, clock: &movedClock{}, mark: w.mark}
	other.start()
	other.Mark = mark
	_ = w.keys() // signs
	w.vote("p", "b", 1)
	w.round() // the log has moved since it was marked
	go func() {
		_, err := other.signLog(t.Context(), 0)
		signed <- err
	}()
	<-paused
	w.vote("p", "a", 1)
	w.round()
	_, _ = w.receipt("p", "a", 1)
	keys := w.keys()
	want, err := keys.Open(w.mark.text, keys.Origin())
	w.must(err)
	close(mark.resume)
	w.must(<-signed)
	if got, err := keys.Open(w.mark.text, keys.Origin()); err != nil || got != want {
		t.Errorf("the mark has %d leaves and had %d, %v", got.N, want.N, err)
	}
}
