package rewrite_test

import (
	"context"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// distant takes a random time before and after each write, and before it reads each chunk by itself,
// as a database does: what it yields is not the log of one moment. The time is that of a bubble.
type distant struct {
	*storetest.Memory
	mu  sync.Mutex
	rng *rand.Rand
}

func (d *distant) travel() {
	d.mu.Lock()
	pause := time.Duration(d.rng.IntN(1000)) * time.Microsecond
	if d.rng.IntN(20) == 0 {
		pause *= 50
	}
	d.mu.Unlock()
	time.Sleep(pause)
}

func (d *distant) Append(ctx context.Context, chunk stream.Chunk) error {
	d.travel()
	defer d.travel()
	return d.Memory.Append(ctx, chunk)
}

func (d *distant) Replace(ctx context.Context, chunk stream.Chunk, expect stream.Digest) error {
	d.travel()
	defer d.travel()
	return d.Memory.Replace(ctx, chunk, expect)
}

func (d *distant) Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error] {
	return func(yield func(stream.Chunk, error) bool) {
		for more := true; more; {
			d.travel()
			more = false
			for chunk, err := range d.Memory.Chunks(ctx, name, after) {
				if !yield(chunk, err) || err != nil {
					return
				}
				after, more = chunk.Seq, true
				break
			}
		}
	}
}

// Two processes truncate a stream and two erase viewers from it, again and again, while others post. None
// of them fails, every post counts, and verify finds the log sound.
func TestRewritersAtOnce(t *testing.T) {
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) { rewriteAtOnce(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func rewriteAtOnce(t *testing.T, seed uint64) {
	memory := storetest.NewMemory()
	var posts, all sync.WaitGroup
	run := func(number uint64, work func(e *ledger.Engine)) {
		e := newEngine(&distant{Memory: memory, rng: rand.New(rand.NewPCG(seed, number))}, stream.Options{})
		all.Go(func() {
			work(e)
			mustClose(t, e)
		})
	}
	for n := range uint64(2) {
		posts.Add(1)
		run(n, func(e *ledger.Engine) {
			defer posts.Done()
			for i := range uint64(10) {
				if _, err := e.Do(t.Context(), testStream, ledger.Post{ID: 10*n + i, Amount: 1, Who: ledger.Viewers[i%4]}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range uint64(2) {
		run(2+n, func(e *ledger.Engine) {
			for i := range 5 {
				if i == 4 {
					posts.Wait() // the last one has entries to remove
				}
				if _, err := e.Truncate(t.Context(), testStream, time.Now().Add(time.Hour)); err != nil {
					t.Error(err)
				}
			}
		})
		run(4+n, func(e *ledger.Engine) {
			for _, who := range ledger.Viewers[1:] {
				if _, err := e.Erase(t.Context(), testStream, rewrite.Viewer{IDs: []string{who}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if report, err := verify(t, memory); err != nil || report.Entries != 0 {
		t.Errorf("verify: %+v, %v", report, err)
	}
	e := newEngine(memory, stream.Options{})
	if total := sum(t, e); total != 20 {
		t.Errorf("the sum is %d, want 20", total)
	}
	mustClose(t, e)
}
