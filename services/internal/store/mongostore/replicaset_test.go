package mongostore

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

func onReplicaSet(t *testing.T) *harness {
	return newHarnessAt(t, mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{}).URI())
}

func newHarnessAt(t *testing.T, uri string) *harness {
	uri = mongotest.WithLongTimeouts(uri)
	h := &harness{mustOpen(t, uri), uri}
	t.Cleanup(func() { mustClose(t, h.Store) })
	return h
}

func TestConformanceOnReplicaSet(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness { return onReplicaSet(t) })
	storetest.RunListing(t, func(t *testing.T) storetest.ListingHarness { return onReplicaSet(t) })
	storetest.RunTail(t, func(t *testing.T) storetest.TailHarness { return onReplicaSet(t) })
	storetest.RunRestore(t, func(t *testing.T) storetest.RestoringHarness { return onReplicaSet(t) })
}

// Through a mongos before two shards no command by _id goes to every shard: the router
// refuses those.
func TestConformanceThroughRouter(t *testing.T) {
	t.Parallel()
	through := func(t *testing.T) *harness {
		other := mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{})
		h := newHarnessAt(t, mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{}).NewRouter("SINGLE_SHARD", other).URI())
		if !h.sharded {
			t.Fatal("the store does not know that it is behind a mongos")
		}
		return h
	}
	storetest.Run(t, func(t *testing.T) storetest.Harness { return through(t) })
	storetest.RunListing(t, func(t *testing.T) storetest.ListingHarness { return through(t) })
	storetest.RunTail(t, func(t *testing.T) storetest.TailHarness { return through(t) })
	storetest.RunRestore(t, func(t *testing.T) storetest.RestoringHarness { return through(t) })
}

// A cluster that spreads the chunks of one stream over shards would accept two with one
// sequence number.
func TestWrongShardKeyIsRefused(t *testing.T) {
	set := mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{})
	s, err := Open(t.Context(), set.NewRouter("SHARD_MERGE").URI())
	if err == nil {
		mustClose(t, s)
	}
	if !errors.Is(err, errShardKey) || fault.KindOf(err) == fault.Unavailable {
		t.Errorf("got %v, want an error that trying again does not change", err)
	}
}

// A store that opens while one primary follows another opens, or can be opened later.
func TestOpenDuringStepDowns(t *testing.T) {
	set := mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{OneWay: time.Millisecond, Acknowledge: time.Millisecond})
	done := make(chan struct{})
	var faults sync.WaitGroup
	faults.Go(func() {
		for next := 1; ; next++ {
			select {
			case <-done:
				return
			case <-time.After(7 * time.Millisecond):
			}
			set.Resign()
			<-time.After(15 * time.Millisecond)
			for !set.Elect(next % 3) {
				next++
			}
		}
	})
	opened := 0
	for range 30 {
		s, err := Open(t.Context(), set.URI()+"&serverSelectionTimeoutMS=50")
		switch {
		case err == nil:
			opened++
			mustClose(t, s)
		case fault.KindOf(err) != fault.Unavailable:
			t.Errorf("permanent: %v", err)
		}
	}
	close(done)
	faults.Wait()
	if opened == 0 {
		t.Error("it never opened")
	}
}

// shardedCluster is two sets behind a router, and the names of a stream on each.
func shardedCluster(t *testing.T) (sets []*mongotest.ReplicaSet, router *mongotest.ReplicaClient, names []string) {
	for range 2 {
		sets = append(sets, mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{OneWay: time.Millisecond, Acknowledge: time.Millisecond}))
	}
	router = sets[0].NewRouter("SINGLE_SHARD", sets[1])
	names = make([]string, len(sets))
	for n := 0; slices.Contains(names, ""); n++ {
		name := fmt.Sprint("s", n)
		names[router.ShardOf(name)] = name
	}
	return sets, router, names
}

// While a shard is away, streams and documents of the others are read and written, and
// what needs all shards fails for now.
func TestShardIsAway(t *testing.T) {
	for name, fail := range map[string]func(*mongotest.ReplicaSet, *mongotest.ReplicaClient){
		"no primary":       func(away *mongotest.ReplicaSet, _ *mongotest.ReplicaClient) { away.Resign() },
		"broadcasts alone": func(_ *mongotest.ReplicaSet, router *mongotest.ReplicaClient) { router.FailBroadcasts(true) },
	} {
		t.Run(name, func(t *testing.T) {
			sets, router, names := shardedCluster(t)
			s := mustOpen(t, router.URI()+"timeoutMS=5000&serverSelectionTimeoutMS=3000")
			t.Cleanup(func() { mustClose(t, s) })
			for _, name := range names {
				mustAppend(t, s, name, 1)
				mustPut(t, s, name, 0, 1)
			}
			if all := collectNames(t, s.Streams(t.Context(), "")); len(all) != len(names) {
				t.Errorf("streams %q of %q are listed", all, names)
			}
			fail(sets[1], router)
			mustAppend(t, s, names[0], 2)
			mustPut(t, s, names[0], 1, 2)
			if n, err := countChunks(t.Context(), s, names[0]); n != 2 || err != nil {
				t.Errorf("%d chunks of 2 are seen, %v", n, err)
			}
			if found, err := s.Get(t.Context(), names[0]); err != nil || found[0].Version != 2 {
				t.Errorf("the document is not seen: %v", err)
			}
			for _, err := range s.Streams(t.Context(), "") {
				if fault.KindOf(err) != fault.Unavailable {
					t.Errorf("list all streams: %v, want that the database is away", err)
				}
			}
			if name == "no primary" {
				sets[1].Elect(1)
			}
			router.FailBroadcasts(false)
			mustAppend(t, s, names[1], 2)
			if all := collectNames(t, s.Streams(t.Context(), "")); len(all) != len(names) {
				t.Errorf("streams %q of %q are listed", all, names)
			}
		})
	}
}

func collectNames(t *testing.T, listing iter.Seq2[string, error]) (names []string) {
	t.Helper()
	for name, err := range listing {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// A process whose router does not know of an election yet gets an error, or all that was
// acknowledged through another router.
func TestRouterWithAnOlderView(t *testing.T) {
	sets, router, names := shardedCluster(t)
	late := sets[0].NewRouter("SINGLE_SHARD", sets[1])
	late.KeepView(true)
	writer := mustOpen(t, router.URI())
	reader := mustOpen(t, late.URI()+"timeoutMS=300&serverSelectionTimeoutMS=200")
	t.Cleanup(func() { mustClose(t, writer); mustClose(t, reader) })
	mustAppend(t, writer, names[1], 1)
	mustPut(t, writer, names[1], 0, 1)
	sets[1].Isolate(0, true) // it goes on to be primary
	if !sets[1].Elect(1) {
		t.Fatalf("no election:\n%s", sets[1])
	}
	for seq := uint64(2); seq < 5; seq++ {
		mustAppend(t, writer, names[1], seq)
		mustPut(t, writer, names[1], seq-1, seq)
		n, err := countChunks(t.Context(), reader, names[1])
		if err == nil && n < int(seq) || err != nil && fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%d chunks of %d are seen, %v", n, seq, err)
		}
		found, err := reader.Get(t.Context(), names[1])
		if err == nil && found[0].Version < seq || err != nil && fault.KindOf(err) != fault.Unavailable {
			t.Errorf("version %d of the document is not seen, %v", seq, err)
		}
		if err := reader.Append(t.Context(), stream.Chunk{Stream: names[1], Seq: seq, Payload: []byte("other")}); err == nil {
			t.Error("an old primary has appended")
		}
	}
	late.KeepView(false)
	if n, err := countChunks(t.Context(), reader, names[1]); n != 4 || err != nil {
		t.Errorf("%d chunks of 4 are seen in the end, %v", n, err)
	}
}
