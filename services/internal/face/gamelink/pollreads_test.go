package gamelink

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// Games that ask for a poll while it is read share the next read, which sees what is newer than
// the first one.
func TestSharedPollReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads, key := newPollReads(), pollKey{id: "p"}
		var count int64 // what is stored; the reads follow each other
		proceed := make(chan struct{})
		read := func() (pollBody, bool, error) {
			count++
			body := pollBody{Count: count}
			<-proceed
			return body, true, t.Context().Err()
		}
		var all sync.WaitGroup
		results := make([]int64, 50)
		for i := range results {
			all.Go(func() {
				got, _ := reads.do(t.Context(), key, read)
				results[i] = got.body.Count
			})
			if i == 0 {
				synctest.Wait() // it reads
			}
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got, mine := reads.do(ctx, key, read); mine || !errors.Is(got.err, context.Canceled) {
			t.Errorf("a game that has gone: %v, %v", got.err, mine)
		}
		close(proceed)
		all.Wait()
		if count != 2 || results[0] != 1 {
			t.Errorf("%d reads, the first sees %d", count, results[0])
		}
		for i, got := range results[1:] {
			if got != 2 {
				t.Errorf("game %d sees %d", i+1, got)
			}
		}
		if len(reads.running)+len(reads.next) != 0 {
			t.Errorf("%d reads go on, %d wait", len(reads.running), len(reads.next))
		}
	})
}

// A game that goes while it waits for the read before its own waits no longer, and those that share
// its read learn that it failed. The next read goes on.
func TestAReaderGoesWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads, key := newPollReads(), pollKey{id: "p"}
		proceed := make(chan struct{})
		read := func() (pollBody, bool, error) {
			<-proceed
			return pollBody{Count: 1}, true, t.Context().Err()
		}
		ctx, cancel := context.WithCancel(t.Context())
		var first, others sync.WaitGroup
		first.Go(func() { reads.do(t.Context(), key, read) })
		synctest.Wait()
		for range 2 { // one is to read, the other shares that
			others.Go(func() {
				if got, _ := reads.do(ctx, key, read); !errors.Is(got.err, context.Canceled) {
					t.Errorf("a read whose reader has gone: %v", got.err)
				}
			})
			synctest.Wait()
		}
		cancel()
		others.Wait()
		first.Go(func() {
			if got, mine := reads.do(t.Context(), key, read); !mine || got.body.Count != 1 {
				t.Errorf("the next read: %v, %v", got, mine)
			}
		})
		synctest.Wait()
		close(proceed)
		first.Wait()
		if len(reads.running)+len(reads.next) != 0 {
			t.Errorf("%d reads go on, %d wait", len(reads.running), len(reads.next))
		}
	})
}
