package mongostore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/faultproxy"
)

// first returns the first chunk of a stream as a writer would have it.
func first(name string, writer byte) stream.Chunk {
	return stream.Chunk{Stream: name, Seq: 1, ID: stream.ChunkID{writer}, Payload: []byte{writer}}
}

// Of the chunks in one insert each is stored or refused by itself, and when
// unknown, each is settled by itself.
func TestChunksThatShareAnInsert(t *testing.T) {
	t.Parallel()
	const mine, another = 1, 2
	for name, test := range map[string]struct {
		fault       faultproxy.Fault
		free, taken string // the results for a stream without a chunk and for one with a chunk
	}{
		"nothing happens": {faultproxy.None, "nil", "conflict"},
		"request lost":    {faultproxy.LoseRequest, "open", "open"},
		"answer lost":     {faultproxy.LoseReply, "open", "open"},
		"arrives twice":   {faultproxy.Repeat, "conflict", "conflict"},
	} {
		t.Run(name, func(t *testing.T) {
			s, other, proxy := behindProxy(t)
			var records []*chunkRecord
			for i := range 10 {
				chunk := first(fmt.Sprint("s/", i), mine)
				records = append(records, newChunkRecord(&chunk))
				if i%3 == 0 {
					if err := other.Append(t.Context(), first(chunk.Stream, another)); err != nil {
						t.Fatal(err)
					}
				}
			}
			proxy.Inject(atInsert(1, func() faultproxy.Fault { return test.fault }))
			result := s.insertChunks(t.Context(), records)
			for i, r := range records {
				want, author := test.free, byte(mine)
				if i%3 == 0 {
					want, author = test.taken, another
				}
				if s.transactions { // there, the driver's second attempt is answered like the first
					want = map[byte]string{mine: "nil", another: "conflict"}[author]
				}
				if err := insertResult(result, i); called(err) != want {
					t.Errorf("%s: %v, want %s", r.Stream, err, want)
				}
				if err := s.Append(t.Context(), first(r.Stream, mine)); err != nil && !errors.Is(err, stream.ErrConflict) {
					t.Errorf("%s again: %v", r.Stream, err)
				}
				for chunk, err := range other.Chunks(t.Context(), r.Stream, 0) {
					if err != nil || chunk.ID != (stream.ChunkID{author}) {
						t.Errorf("%s holds the chunk of %v, %v, want that of %d", r.Stream, chunk.ID, err, author)
					}
				}
			}
		})
	}
}

// A failure that is not about one record is about all of them.
func TestOutcome(t *testing.T) {
	refused := func(index, code int) mongo.BulkWriteException {
		return mongo.BulkWriteException{WriteErrors: []mongo.BulkWriteError{{WriteError: mongo.WriteError{Index: index, Code: code}}}}
	}
	unconfirmed := refused(1, 11000)
	unconfirmed.WriteConcernError = &mongo.WriteConcernError{Code: 64}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"stored":               {nil, "nil nil nil"},
		"one is a duplicate":   {refused(1, 11000), "nil conflict nil"},
		"one is refused":       {refused(1, 121), "nil open nil"},
		"not known to be kept": {unconfirmed, "open open open"},
		"lost":                 {errors.New("lost"), "open open open"},
		"never sent":           {mongo.ErrClientDisconnected, "unavailable unavailable unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for i := range 3 {
				got += " " + called(insertResult(test.err, i))
			}
			if got != " "+test.want {
				t.Errorf("outcomes are%s, want %s", got, test.want)
			}
		})
	}
}

func called(err error) string {
	switch {
	case err == nil:
		return "nil"
	case errors.Is(err, stream.ErrConflict):
		return "conflict"
	case fault.KindOf(err) == fault.Unavailable, fault.KindOf(err) == fault.Storage:
		return "unavailable"
	}
	return "open"
}

// The first chunk goes at once; those that wait go together, within bounds.
func TestWaitingChunksShareInserts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		inserts := make(chan []*chunkRecord, 100)
		a := newInsertQueue(time.Hour, func(_ context.Context, records []*chunkRecord) error {
			inserts <- records
			<-let
			return nil
		})
		defer a.close()
		push := func(count, bytes int) {
			for range count {
				go func() {
					if err := a.insertRecord(t.Context(), &chunkRecord{Payload: make([]byte, bytes)}); err != nil {
						t.Error(err)
					}
				}()
			}
			synctest.Wait()
		}
		push(1, 1)
		push(3, bytesAtOnce/2)
		push(1, 2*bytesAtOnce)
		push(chunksAtOnce+1, 1)
		close(let)
		synctest.Wait()
		close(inserts)
		var sizes []int
		for records := range inserts {
			sizes = append(sizes, len(records))
		}
		slices.Sort(sizes) // those under way at the same time are in no order
		want := append(slices.Repeat([]int{1}, 4), 2, chunksAtOnce)
		if !slices.Equal(sizes, want) {
			t.Errorf("inserts of %v chunks, want %v", sizes, want)
		}
	})
}

// An insert takes a round trip to a majority, and the server takes them side by side. A
// chunk that comes while some are under way waits for about a third of that, and never for
// all of it, also when those hang.
func TestChunksDoNotWaitForARoundTrip(t *testing.T) {
	const roundTrip, streams, each = 8 * time.Millisecond, 8, 100
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Int64
		a := newInsertQueue(time.Hour, func(ctx context.Context, records []*chunkRecord) error {
			took := roundTrip
			if records[0].Seq == 0 {
				hangs.Add(1)
				took = time.Hour
			}
			return stream.SystemClock().Sleep(ctx, took)
		})
		defer a.close()
		insert := func(seq int64) {
			if err := a.insertRecord(t.Context(), &chunkRecord{Seq: seq}); err != nil && seq > 0 {
				t.Error(err)
			}
		}
		inserted := func() (longest, mean time.Duration) {
			start := time.Now()
			var writers sync.WaitGroup
			var waits [streams]time.Duration // the longest of each stream
			for i := range streams {
				writers.Go(func() {
					for range each {
						before := time.Now()
						insert(1)
						waits[i] = max(waits[i], time.Since(before))
						<-time.After(time.Millisecond / 3)
					}
				})
			}
			writers.Wait()
			return slices.Max(waits[:]), time.Since(start)/each - time.Millisecond/3
		}
		insert(1) // from which the queue learns how long one takes
		for range 2 {
			longest, mean := inserted()
			if mean > roundTrip*3/2 || longest > 2*roundTrip {
				t.Errorf("with %d inserts that hang an append takes %v, at most %v", hangs.Load(), mean, longest)
			}
			for range insertsSideBySide {
				go insert(0)
				<-time.After(roundTrip) // it begins
			}
		}
	})
}

// A caller that gives up waits no longer, and inserts under way end with the store.
func TestAppendEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newInsertQueue(time.Hour, func(ctx context.Context, _ []*chunkRecord) error {
			<-ctx.Done()
			return ctx.Err()
		})
		ctx, cancel := context.WithCancel(t.Context())
		heard := make(chan error, 2)
		go func() { heard <- a.insertRecord(ctx, &chunkRecord{}) }()
		synctest.Wait()
		cancel()
		if err := <-heard; called(err) != "open" {
			t.Errorf("given up: %v, want an error that leaves the outcome open", err)
		}
		go func() { heard <- a.insertRecord(t.Context(), &chunkRecord{}) }()
		<-time.After(time.Second) // beside the one that hangs
		a.close()
		if err := <-heard; called(err) != "open" {
			t.Errorf("cut off: %v, want an error that leaves the outcome open", err)
		}
	})
}
