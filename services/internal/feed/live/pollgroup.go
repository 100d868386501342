package live

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

// firstReadsAtOnce bounds how many polls of a group are read for the first time at
// once.
const firstReadsAtOnce = 16

// Of the polls beyond those that are followed from the start, a group looks at lookAtOnce
// each lookEvery for configured ones, and remembers the names of maxUnread.
const (
	lookAtOnce = 256
	lookEvery  = 100 * time.Millisecond
	maxUnread  = 1 << 18
)

// pollGroup follows the polls of a channel or an extension: it finds new ones and
// acquires a source for each. Where there are more than it may follow, it follows those
// that are configured, and of the others those that changed last. A poll that is not
// followed is when a hint says that it has changed.
type pollGroup struct {
	broker *Broker
	prefix string       // of the names of the polls' streams
	active atomic.Int64 // polls with a worker

	// Of the worker.
	listed bool
	seen   map[uint64]struct{} // hashes of the names that were listed; nil while no other process writes
	unread []string            // names of polls that may be configured
	seed   maphash.Seed

	mu         sync.Mutex
	discovered *simplelru.LRU[string, uint64] // hinted heads, by the names of streams
	closed     bool
	polls      map[string]*trackedSource // by the names of their streams
}

func (b *Broker) newPollGroup(a event.Audience) *trackedSource {
	discovered, err := simplelru.NewLRU[string, uint64](b.tuning.maxPolls, nil)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	g := &pollGroup{broker: b, prefix: event.PollStreams(a), seed: maphash.MakeSeed(), discovered: discovered, polls: map[string]*trackedSource{}}
	if b.options.Tail != nil {
		g.seen = map[uint64]struct{}{}
	}
	return &trackedSource{refresher: g}
}

// discoverPoll is a hint that there is a poll. It reports whether the poll is new. Of too
// many hints the oldest are dropped.
func (g *pollGroup) discoverPoll(name string, head uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.polls[name] != nil {
		return false
	}
	known, _ := g.discovered.Peek(name)
	g.discovered.Add(name, max(known, head))
	return true
}

// refresh follows the polls that are new. Of those that existed before the first refresh,
// changes are those since.
func (g *pollGroup) refresh(ctx context.Context, _ uint64) (sourceUpdate, error) {
	listed := g.listed
	if !listed || g.broker.options.Tail != nil {
		if err := g.followListed(ctx); err != nil {
			return sourceUpdate{}, err
		}
	}
	discovered := g.takeDiscovered()
	if err := g.followPolls(ctx, discovered, listed); err != nil {
		for name, head := range discovered {
			g.discoverPoll(name, head)
		}
		return sourceUpdate{}, err
	}
	g.listed = true
	if !listed || len(g.unread) == 0 {
		return g.nextLook(), nil
	}
	if err := g.lookForConfigured(ctx); err != nil {
		return sourceUpdate{}, err
	}
	return g.nextLook(), nil
}

// nextLook returns an update that has the group refreshed again while polls are unread.
func (g *pollGroup) nextLook() (u sourceUpdate) {
	if len(g.unread) > 0 {
		u.again = time.Now().Add(lookEvery)
	}
	return u
}

func (g *pollGroup) takeDiscovered() map[string]uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	discovered := map[string]uint64{}
	for _, name := range g.discovered.Keys() {
		discovered[name], _ = g.discovered.Peek(name)
	}
	g.discovered.Purge()
	return discovered
}

// followListed follows the polls that the store has and did not have the last time. Of
// those that are too many the first time, it leaves some for lookForConfigured.
func (g *pollGroup) followListed(ctx context.Context) error {
	var fresh []string
	for name, err := range g.broker.options.Streams(ctx, g.prefix) {
		if err != nil {
			return err
		}
		if len(fresh) < maxUnread && !g.hasSeen(name) {
			fresh = append(fresh, name)
		}
	}
	if !g.listed && len(fresh) > g.broker.tuning.maxPolls {
		g.broker.options.Logger.Warn("too many polls to follow all of them", "prefix", g.prefix, "limit", g.broker.tuning.maxPolls)
		g.unread = fresh[g.broker.tuning.maxPolls:]
		fresh = fresh[:g.broker.tuning.maxPolls]
	}
	names := map[string]uint64{}
	for _, name := range fresh {
		names[name] = 0
	}
	if err := g.followPolls(ctx, names, g.listed); err != nil {
		return err
	}
	if g.seen != nil && len(g.seen) < maxUnread {
		for _, name := range append(fresh, g.unread...) {
			g.seen[maphash.String(g.seed, name)] = struct{}{}
		}
	}
	return nil
}

// hasSeen reports whether an earlier listing had the name, or the group remembers no more
// names.
func (g *pollGroup) hasSeen(name string) bool {
	if g.seen == nil {
		return false
	}
	_, ok := g.seen[maphash.String(g.seed, name)]
	return ok || len(g.seen) >= maxUnread
}

// lookForConfigured reads some of the polls that are not followed, and follows those that
// are configured.
func (g *pollGroup) lookForConfigured(ctx context.Context) error {
	names := g.unread[:min(lookAtOnce, len(g.unread))]
	configured := map[string]uint64{}
	var mu sync.Mutex
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(firstReadsAtOnce)
	for _, name := range names {
		group.Go(func() error {
			poll, ok := event.ParseSource(name)
			if !ok || poll.Kind != event.Poll {
				return nil
			}
			known, err := g.broker.options.Reader.Current(reading, poll, time.Now(), event.Staff)
			if known.Configured {
				mu.Lock()
				defer mu.Unlock()
				configured[name] = 0
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := g.followPolls(ctx, configured, false); err != nil {
		return err
	}
	g.unread = g.unread[len(names):]
	return nil
}

// followPolls follows polls, given with hinted heads, and waits for their first refresh.
// Where they are new, all there is in them has changed.
func (g *pollGroup) followPolls(ctx context.Context, heads map[string]uint64, asNew bool) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(firstReadsAtOnce)
	for name, head := range heads {
		if g.followsPoll(name) {
			continue
		}
		poll, ok := event.ParseSource(name)
		if !ok || poll.Kind != event.Poll {
			continue
		}
		group.Go(func() error {
			return g.addPoll(ctx, name, func() *trackedSource {
				s := g.broker.newItem(poll)
				if asNew {
					s = g.broker.newDiscovered(poll, head)
				}
				s.group = g
				return s
			})
		})
	}
	return group.Wait()
}

func (g *pollGroup) followsPoll(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.polls[name] != nil
}

func (g *pollGroup) addPoll(ctx context.Context, name string, create func() *trackedSource) error {
	poll, err := g.broker.acquireSource(name, nil, create)
	if err != nil {
		return err
	}
	if err = poll.awaitFirst(ctx); err == nil && g.keepPoll(name, poll) {
		return nil
	}
	g.broker.releaseSource(poll)
	return err
}

// keepPoll reports false when the group has a source for the poll, or is closed. It makes
// room for the poll.
func (g *pollGroup) keepPoll(name string, poll *trackedSource) bool {
	dropped, kept := g.exchangePolls(name, poll)
	for _, d := range dropped { // without g.mu, which hints take after broker.mu
		g.broker.dropSource(d)
	}
	return kept
}

func (g *pollGroup) exchangePolls(name string, poll *trackedSource) (dropped []*trackedSource, kept bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.polls[name] != nil {
		return nil, false
	}
	if len(g.polls) >= g.broker.tuning.maxPolls {
		dropped = g.makeRoom()
	}
	g.polls[name] = poll
	return dropped, true
}

// makeRoom removes and returns a tenth of the polls: first those that are not configured,
// and of these first those that have not changed for longest. g.mu is held.
func (g *pollGroup) makeRoom() (dropped []*trackedSource) {
	type followedPoll struct {
		*trackedSource
		configured int
		lastRead   time.Time
	}
	polls := make([]followedPoll, 0, len(g.polls))
	for _, poll := range g.polls {
		configured, lastRead := poll.standing()
		polls = append(polls, followedPoll{poll, configured, lastRead})
	}
	slices.SortFunc(polls, func(a, b followedPoll) int {
		return cmp.Or(cmp.Compare(a.configured, b.configured), a.lastRead.Compare(b.lastRead))
	})
	for _, poll := range polls[:1+len(polls)/10] {
		delete(g.polls, poll.name)
		dropped = append(dropped, poll.trackedSource)
	}
	return dropped
}

// allPolls returns the sources of the polls.
func (g *pollGroup) allPolls() []*trackedSource {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make([]*trackedSource, 0, len(g.polls))
	for _, p := range g.polls {
		all = append(all, p)
	}
	return slices.Clip(all)
}

func (g *pollGroup) close() {
	polls := g.allPolls()
	g.mu.Lock()
	g.closed, g.polls = true, nil
	g.mu.Unlock()
	for _, p := range polls {
		g.broker.releaseSource(p)
	}
}
