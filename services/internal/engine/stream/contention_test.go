package stream_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"text/tabwriter"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// TestContention prints what becomes of one stream when 1 to 64 replicas have it
// at once, in simulated time: 256 clients in all, 2 to
// 4 ms for an append, 1 to 2 ms for a read. Reachable replicas pass everything on
// to one of them, the others commit for themselves. It is the table of the
// capacity page in services/README.md.
func TestContention(t *testing.T) {
	var table strings.Builder
	out := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "replicas\tpeers\tcommands/s\tto one\tappends/s\tconflicts a commit\tleast share\tmost\tp50 ms\tp99\tlongest\t")
	var one float64
	for _, reachable := range []bool{true, false} {
		for _, replicas := range []int{1, 2, 4, 8, 16, 32, 64} {
			c := &contest{replicas: replicas, reachable: reachable, done: make([]int, replicas), Memory: storetest.NewMemory(), rng: rand.New(rand.NewPCG(1, uint64(replicas)))}
			synctest.Test(t, c.run)
			least, most := c.shares()
			if one == 0 {
				one = c.perSecond(len(c.latencies))
			}
			rate := c.perSecond(len(c.latencies))
			fmt.Fprintf(out, "%d\t%s\t%.0f\t%.2f\t%.0f\t%.2f\t%.2f\t%.2f\t%.1f\t%.1f\t%.1f\t\n", replicas,
				map[bool]string{true: "reachable", false: "cut off"}[reachable], rate, rate/one, c.perSecond(c.appends),
				float64(c.conflicts)/float64(c.appends-c.conflicts), least, most, c.quantile(0.5), c.quantile(0.99), c.quantile(1))
			if reachable && c.conflicts > 0 {
				t.Errorf("%d replicas that reach one another had %d conflicts", replicas, c.conflicts)
			}
			if least < 0.5 || c.quantile(1) > 2000 {
				t.Errorf("%d replicas: a share of %.2f, a wait of %.0f ms", replicas, least, c.quantile(1))
			}
		}
	}
	if err := out.Flush(); err != nil {
		t.Error(err)
	}
	t.Log("\n" + table.String())
}

const contestClients = 256

// length returns the duration of a contest. Where replicas take turns, each gets many
// of them, so that a share does not depend on luck.
func (c *contest) length() time.Duration {
	if c.reachable {
		return 2 * time.Second
	}
	return time.Second * time.Duration(max(2, c.replicas/4))
}

// contest is a run of TestContention, and the store of its engines.
type contest struct {
	*storetest.Memory
	replicas  int
	reachable bool
	engines   []*ledger.Engine

	mu                 sync.Mutex
	rng                *rand.Rand
	appends, conflicts int
	done               []int // commands, by replica
	latencies          []time.Duration
}

func (c *contest) run(t *testing.T) {
	for i := range c.replicas {
		c.engines = append(c.engines, ledger.Open(c, stream.SystemClock(), stream.Options{
			Peers: &contestView{c, i},
		}.Tuned(stream.Tuning{Random: rand.NewPCG(uint64(i), 2)})))
	}
	start := time.Now()
	var clients sync.WaitGroup
	for id := range uint64(contestClients) {
		clients.Go(func() {
			replica := int(id) % c.replicas
			for n := uint64(0); time.Since(start) < c.length(); n++ {
				began := time.Now()
				if _, err := c.engines[replica].Do(t.Context(), testStream, ledger.Post{ID: id<<32 | n, Amount: 0}); err != nil {
					t.Error(err)
				}
				c.mu.Lock()
				c.done[replica]++
				c.latencies = append(c.latencies, time.Since(began))
				c.mu.Unlock()
			}
		})
	}
	clients.Wait()
	for _, e := range c.engines {
		mustClose(t, e)
	}
	slices.Sort(c.latencies)
}

func (c *contest) wait(ctx context.Context, least time.Duration) error {
	c.mu.Lock()
	d := least + time.Duration(c.rng.Int64N(int64(least)))
	c.mu.Unlock()
	return stream.SystemClock().Sleep(ctx, d)
}

// Append answers half of its time after it is decided.
func (c *contest) Append(ctx context.Context, chunk stream.Chunk) error {
	if err := c.wait(ctx, time.Millisecond); err != nil {
		return err
	}
	err := c.Memory.Append(ctx, chunk)
	c.mu.Lock()
	c.appends++
	if errors.Is(err, stream.ErrConflict) {
		c.conflicts++
	}
	c.mu.Unlock()
	return errors.Join(err, c.wait(ctx, time.Millisecond))
}

func (c *contest) Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error] {
	return func(yield func(stream.Chunk, error) bool) {
		if err := c.wait(ctx, time.Millisecond); err != nil {
			yield(stream.Chunk{}, err)
			return
		}
		c.Memory.Chunks(ctx, name, after)(yield)
	}
}

func (c *contest) perSecond(n int) float64 { return float64(n) / c.length().Seconds() }

func (c *contest) quantile(q float64) (ms float64) {
	return float64(c.latencies[int(q*float64(len(c.latencies)-1))].Microseconds()) / 1000
}

func (c *contest) shares() (least, most float64) {
	even := float64(len(c.latencies)) / float64(c.replicas)
	return float64(slices.Min(c.done)) / even, float64(slices.Max(c.done)) / even
}

// contestView holds one replica's knowledge of the others.
type contestView struct {
	contest *contest
	self    int
}

func (v *contestView) Owner(string) stream.Peer {
	if v.self == 0 || !v.contest.reachable {
		return nil
	}
	return contestLink{v.contest}
}

func (v *contestView) Contenders(string) int {
	if v.contest.reachable {
		return 0
	}
	return v.contest.replicas - 1
}

// contestLink is the way to the first replica, half a millisecond or so each way.
type contestLink struct{ contest *contest }

func (contestLink) ID() string { return "first" }

func (l contestLink) Send(ctx context.Context, request []byte, receive func(part []byte)) error {
	if err := l.contest.wait(ctx, time.Millisecond/2); err != nil {
		return err
	}
	return l.contest.engines[0].Serve(ctx, request, func(part []byte) {
		if l.contest.wait(ctx, time.Millisecond/2) == nil {
			receive(part)
		}
	})
}
