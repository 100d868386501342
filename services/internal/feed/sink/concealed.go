package sink

import (
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
)

// concealedPolls are the polls whose results a sink's audience does not see. A vote in one
// of them may not run the queue of its channel: by the pause that follows a run, by what is
// sent together and by the rate that it takes, viewers would notice. So such a poll is read
// beside the queue, once a second, and enters it when viewers are to receive something.
type concealedPolls struct {
	names map[string]struct{}
	due   map[string]queueEntry // those that have changed since they were read
}

func newConcealedPolls() concealedPolls {
	return concealedPolls{names: map[string]struct{}{}, due: map[string]queueEntry{}}
}

// note notes whether a source is one. w.mu is held.
func (c *concealedPolls) note(name string, concealed bool) {
	if concealed {
		c.names[name] = struct{}{}
	} else {
		delete(c.names, name)
	}
}

// postpone leaves a source to checkConcealed, and reports false for one that is not
// concealed. w.mu is held.
func (c *concealedPolls) postpone(e queueEntry) bool {
	if _, ok := c.names[e.source.Name]; !ok {
		return false
	}
	if before, ok := c.due[e.source.Name]; ok && (before.hinted == readAgain || e.hinted != readAgain && before.hinted > e.hinted) {
		e = before
	}
	c.due[e.source.Name] = e
	return true
}

// checkConcealed reads the concealed polls that have changed, and enqueues those with
// something to deliver.
func (w *sinkWorker) checkConcealed() {
	w.mu.Lock()
	due := w.concealed.due
	w.concealed.due = map[string]queueEntry{}
	w.mu.Unlock()
	err := w.readBeside(due, func(e queueEntry) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.enqueueSorted(e)
	}, func(e queueEntry) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.concealed.postpone(e)
	})
	w.noteFailure(err, "reading a poll with hidden results failed; retrying")
}

// readBeside reads sources beside their queues, with the heads that they have reached, several at
// once. It calls changed with each that has something to deliver, failed with each that cannot be
// read, and returns the first error.
func (w *sinkWorker) readBeside(due map[string]queueEntry, changed, failed func(queueEntry)) error {
	if len(due) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(due))
	known, err := w.positions.loadPositions(w.ctx, names...)
	if err != nil {
		for _, e := range due {
			failed(e)
		}
		return err
	}
	var group errgroup.Group
	group.SetLimit(w.m.tuning.atOnce)
	for i, name := range names {
		group.Go(func() error {
			e := due[name]
			change, err := w.m.options.Reader.Changes(w.ctx, e.source, known[i].Knowledge, e.hinted, w.m.tuning.clock.Now(), w.sender.side())
			switch {
			case err != nil:
				failed(e)
			case len(change.Steps) > 0:
				changed(queueEntry{e.source, readAgain})
			default:
				w.recordDelivered(name, position{Knowledge: change.Final})
			}
			return err
		})
	}
	return group.Wait()
}

func (w *sinkWorker) noteFailure(err error, what string) {
	if err != nil && w.ctx.Err() == nil {
		w.m.stats.failures.Add(1)
		w.logger.Warn(what, "error", err)
	}
}
