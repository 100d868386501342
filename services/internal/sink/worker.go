package sink

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// worker delivers to one sink.
type worker struct {
	m         *Manager
	name      workerName
	positions positions
	owner     string // of claims
	birth     *lease
	sender    sender
	ctx       context.Context // ends waiting
	stop      context.CancelFunc
	atOnce    *semaphore.Weighted
	logger    *slog.Logger

	mu    sync.Mutex
	born  bool // positions say what the sink knows
	lanes map[string]*lane
	// seen is how far each subject is known to be delivered.
	seen map[string]uint64
	// ends are when polls end that were looked at, in Unix seconds.
	ends map[string]int64
}

func (m *Manager) startWorker(name workerName) *worker {
	kind := "pubsub"
	if name.webhook {
		kind = "webhook"
	}
	w := &worker{
		m: m, name: name,
		positions: positions{m.options.Store, key.Join(Kind, string(name.environment), name.extension, name.sink, kind) + "/"},
		owner:     rand.Text(),
		atOnce:    semaphore.NewWeighted(int64(m.options.AtOnce)),
		logger:    m.options.Logger.With("extension", name.extension, "environment", string(name.environment), "sink", name.sink),
		lanes:     map[string]*lane{}, seen: map[string]uint64{}, ends: map[string]int64{},
	}
	w.birth = w.lease("birth")
	w.sender = &pubSub{w}
	if name.webhook {
		w.sender = &webhook{w}
	}
	w.ctx, w.stop = context.WithCancel(m.stopping)
	m.work.Go(w.run)
	return w
}

// declared returns what the registry says of the sink now.
func (w *worker) declared() (*tenant.Extension, tenant.Sink, bool) {
	extension, ok := w.m.registry().ByClientID(w.name.extension)
	if !ok {
		return nil, tenant.Sink{}, false
	}
	s, ok := extension.Sink(w.name.environment, w.name.sink)
	return extension, s, ok
}

// lease returns one that nobody here has asked for yet.
func (w *worker) lease(name string) *lease {
	o := w.m.options
	return &lease{store: o.Store, clock: o.Clock, key: w.positions.prefix + "lane/" + key.Join(name), owner: w.owner, atFirst: o.ClaimFor}
}

// tick is how often ends of polls are looked for.
const tick = time.Second

// run looks for what was not hinted at until the worker is stopped. With many polls
// that takes long: then it does so for a tenth of the time, and leaves more to hints.
func (w *worker) run() {
	const long, share = tick / 4, 10
	for next := time.Now(); ; {
		if now := time.Now(); !now.Before(next) {
			err := w.sweep()
			if err != nil && w.ctx.Err() == nil {
				w.m.stats.failures.Add(1)
				w.logger.Warn("what is to be delivered cannot be read; it is tried again", "error", err)
			}
			every, took := w.m.options.SweepEvery, time.Since(now)
			if err != nil {
				every = min(tick, every)
			}
			if took > long {
				every = max(every, share*took)
			}
			next = now.Add(every)
		}
		w.ring()
		if !pause(w.ctx, min(tick, w.m.options.SweepEvery)) {
			return
		}
	}
}

// pause reports false when ctx is done meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// ring has the polls looked at that have just ended.
func (w *worker) ring() {
	now := w.m.options.Clock.Now().Unix()
	var over []string
	w.mu.Lock()
	for name, at := range w.ends {
		if at <= now {
			over = append(over, name)
			delete(w.ends, name)
		}
	}
	w.mu.Unlock()
	for _, name := range over {
		w.mark(name)
	}
}

// sweep has everything looked at that has changed since it was delivered.
func (w *worker) sweep() error {
	if !w.isBorn() {
		if done, err := w.bear(); err != nil || !done {
			return err
		}
	}
	return w.subjects(func(names []string) error {
		behind, err := w.behind(names)
		for _, name := range behind {
			w.mark(name)
		}
		return err
	})
}

func (w *worker) isBorn() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.born
}

// subjectsAtOnce is how many subjects the store is asked for together.
const subjectsAtOnce = 256

// subjects calls do with the names of all there is to tell of.
func (w *worker) subjects(do func(names []string) error) error {
	at := []string{string(w.name.environment), w.name.extension}
	prefix := func(kind string, rest ...string) string {
		return key.Join(append(append([]string{kind}, at...), rest...)...)
	}
	names := []string{prefix(state.Kind, "state", "extension")}
	add := func(name string, err error) error {
		if err != nil {
			return err
		}
		if names = append(names, name); len(names) < subjectsAtOnce {
			return nil
		}
		full := names
		names = nil
		return do(full)
	}
	for _, streams := range []string{prefix(voting.Kind) + "/", prefix(message.Kind) + "/"} {
		for name, err := range w.m.options.Streams(w.ctx, streams) {
			if err := add(name, err); err != nil {
				return err
			}
		}
	}
	for name, err := range w.m.options.Keys(w.ctx, prefix(state.Kind, "state", "channel")+"/") {
		if err := add(name, err); err != nil {
			return err
		}
	}
	return do(names)
}

// bear makes what is there when the sink is new count as delivered, once for all
// processes. It reports false while another one does so.
func (w *worker) bear() (done bool, err error) {
	known, err := w.positions.load(w.ctx, birth)
	if err != nil {
		return false, err
	}
	if known[0].version == 0 {
		if !w.m.options.Alone {
			span := w.m.options.ClaimFor
			if wait, _, err := w.birth.hold(w.ctx, span/2, span); err != nil || wait > 0 {
				return false, err
			}
		}
		if err := w.subjects(w.pass); err != nil {
			return false, err
		}
		if err := w.positions.save(w.ctx, birth, position{}, 0); err != nil {
			return false, err
		}
	}
	w.mu.Lock()
	w.born = true
	w.mu.Unlock()
	return true, nil
}

// pass makes subjects as they are count as delivered.
func (w *worker) pass(names []string) error {
	known, err := w.positions.load(w.ctx, names...)
	if err != nil {
		return err
	}
	for i, name := range names {
		s, ok := w.m.options.newSubject(name)
		if !ok || known[i].version > 0 {
			continue
		}
		f, err := s.look(w.ctx, position{})
		if err != nil {
			return err
		}
		if f.final == (position{}) {
			continue
		}
		if err := w.positions.save(w.ctx, name, f.final, 0); err != nil {
			return err
		}
	}
	return nil
}

// behind returns which of the subjects have changed since they were delivered.
func (w *worker) behind(names []string) (behind []string, err error) {
	if behind, err = w.recall(names); err != nil {
		return nil, err
	}
	streams, documents := map[string]uint64{}, []string{}
	w.mu.Lock()
	for _, name := range names {
		s, ok := w.m.options.newSubject(name)
		switch {
		case !ok:
		case s.isDocument:
			documents = append(documents, name)
		default:
			streams[name] = w.seen[name]
		}
	}
	w.mu.Unlock()
	grown, err := w.m.options.Tail.Grown(w.ctx, streams)
	if err != nil {
		return nil, err
	}
	versions, err := w.m.options.Tail.Versions(w.ctx, documents)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, version := range versions {
		if version > w.seen[name] {
			behind = append(behind, name)
		}
	}
	return append(behind, grown...), nil
}

// recall reads the positions of subjects that are not known yet. It returns the
// polls that ended meanwhile.
func (w *worker) recall(names []string) (ended []string, err error) {
	var unknown []string
	w.mu.Lock()
	for _, name := range names {
		if _, ok := w.seen[name]; !ok {
			unknown = append(unknown, name)
		}
	}
	w.mu.Unlock()
	if len(unknown) == 0 {
		return nil, nil
	}
	known, err := w.positions.load(w.ctx, unknown...)
	if err != nil {
		return nil, err
	}
	for i, name := range unknown {
		if known[i].due(w.m.options.Clock.Now()) {
			ended = append(ended, name)
		}
		w.delivered(name, known[i].position)
	}
	return ended, nil
}

// delivered notes how far a subject is.
func (w *worker) delivered(name string, at position) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[name] = max(w.seen[name], at.Head)
	if at.EndsAt != 0 && at.EndsAt != at.Ended {
		w.ends[name] = at.EndsAt
	}
}

// mark has a subject looked at.
func (w *worker) mark(name string) {
	s, ok := w.m.options.newSubject(name)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.born || w.ctx.Err() != nil {
		return
	}
	of := w.sender.lane(s)
	l := w.lanes[of]
	if l == nil {
		l = w.newLane(of)
		w.lanes[of] = l
		w.m.work.Go(l.run)
	}
	l.push(s)
}

// idle forgets a lane in which there is nothing to deliver.
func (w *worker) idle(l *lane) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(l.queue) > 0 {
		return false
	}
	delete(w.lanes, l.name)
	return true
}

var errUndeclared = errors.New("the registry does not declare the sink any more")
