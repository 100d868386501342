package mongostore

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

func countChunks(ctx context.Context, s *Store, name string) (n int, err error) {
	for _, err := range s.Chunks(ctx, name, 0) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// repeatWhileUnavailable reads again while the driver still meets the member that was killed:
// such a read fails, and is not short.
func repeatWhileUnavailable[T any](read func() (T, error)) (found T, err error) {
	for {
		if found, err = read(); fault.KindOf(err) != fault.Unavailable {
			return found, err
		}
	}
}

// A primary that was just elected has what its predecessor acknowledged, and commits it
// only with the first entry of its own term. Reads wait for that.
func TestReadAfterElectionSeesAll(t *testing.T) {
	t.Parallel()
	for name, uri := range map[string]func(*mongotest.ReplicaSet) string{
		"replica set": (*mongotest.ReplicaSet).URI,
		"router":      func(set *mongotest.ReplicaSet) string { return set.NewRouter("SINGLE_SHARD").URI() },
	} {
		t.Run(name, func(t *testing.T) { readAfterElectionSeesAll(t, uri) })
	}
}

func readAfterElectionSeesAll(t *testing.T, uri func(*mongotest.ReplicaSet) string) {
	set := mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{OneWay: 2 * time.Millisecond, Acknowledge: time.Millisecond})
	s := mustOpen(t, uri(set))
	t.Cleanup(func() { mustClose(t, s) })
	const last = 6
	for seq := uint64(1); seq < last; seq++ {
		mustAppend(t, s, "s", seq)
	}
	set.StopReplication(2, true)
	mustAppend(t, s, "s", last) // on members 0 and 1
	mustPut(t, s, "d", 0, 1)
	set.Kill(0)
	if !set.Elect(1) {
		t.Fatalf("no election:\n%s", set)
	}
	var reads sync.WaitGroup
	for range 3 {
		reads.Go(func() {
			n, err := repeatWhileUnavailable(func() (int, error) { return countChunks(t.Context(), s, "s") })
			if n != last || err != nil {
				t.Errorf("%d chunks of %d are seen, %v", n, last, err)
			}
			found, err := repeatWhileUnavailable(func() ([]document.Document, error) { return s.Get(t.Context(), "d") })
			if err != nil || found[0].Version != 1 {
				t.Errorf("the document is not seen: %v", err)
			}
			found, err = repeatWhileUnavailable(func() ([]document.Document, error) { return s.Get(t.Context(), "d", "e") })
			if err != nil || found[0].Version != 1 {
				t.Errorf("of two documents the one is not seen: %v", err)
			}
		})
	}
	answered := make(chan struct{})
	go func() { reads.Wait(); close(answered) }()
	select {
	case <-answered:
		t.Error("reads are answered before the new primary has committed anything")
	case <-time.After(200 * time.Millisecond):
	}
	set.StopReplication(2, false)
	<-answered
}

// A process on the side of an old primary that no majority follows gets an error, or all
// that was acknowledged on the other side.
func TestOldPrimaryAnswersNoReads(t *testing.T) {
	t.Parallel()
	set := mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{OneWay: time.Millisecond, Acknowledge: time.Millisecond})
	client := set.NewClient()
	reader := mustOpen(t, client.URI())
	t.Cleanup(func() { mustClose(t, reader) })
	before := mustOpen(t, set.URI())
	mustAppend(t, before, "s", 1)
	mustClose(t, before)
	set.Isolate(0, true)
	client.CutOff(1, true)
	client.CutOff(2, true)
	if !set.Elect(1) {
		t.Fatalf("no election:\n%s", set)
	}
	other := set.NewClient()
	other.CutOff(0, true) // or its first append may wait for a majority at the old primary
	writer := mustOpen(t, other.URI())
	t.Cleanup(func() { mustClose(t, writer) })
	for seq := 2; seq < 5; seq++ {
		mustAppend(t, writer, "s", uint64(seq))
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		n, err := countChunks(ctx, reader, "s")
		cancel()
		if err == nil && n < seq || err != nil && fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%d chunks of %d are seen, %v", n, seq, err)
		}
	}
	client.CutOff(1, false)
	client.CutOff(2, false)
	set.Isolate(0, false)
	for {
		n, err := countChunks(t.Context(), reader, "s")
		if err == nil && n != 4 {
			t.Errorf("%d chunks of 4 are seen after the partition", n)
		}
		if err == nil {
			return
		}
	}
}

// Reads that wait together share a barrier, and none shares one that began before it.
func TestReadsShareBarriers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began atomic.Uint32
		b := newReadBarrier(func(ctx context.Context) (bson.Timestamp, error) {
			at := bson.Timestamp{T: began.Add(1)}
			return at, stream.SystemClock().Sleep(ctx, 10*time.Millisecond)
		})
		var reads sync.WaitGroup
		read := func() {
			reads.Go(func() {
				before := began.Load()
				if at, err := b.await(t.Context()); err != nil || at.T <= before {
					t.Errorf("a read that came after barrier %d had begun uses barrier %d, %v", before, at.T, err)
				}
			})
		}
		for range 100 {
			read()
			<-time.After(time.Millisecond)
		}
		reads.Wait()
		if n := began.Load(); n > 12 {
			t.Errorf("%d barriers for reads of 100 ms", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.await(ctx); err == nil {
			t.Error("a read whose caller has given up goes on")
		}
		b.close()
	})
}
