package peer_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/cputime"
)

// BenchmarkRequest sends requests to another node over a TLS connection of this machine. An
// operation is a request with its answer, and its processor time that of both ends. Two at a
// time are as many as package stream has under way while its owner is quick; the sizes are
// those of a vote and of 20 votes for as many polls.
func BenchmarkRequest(b *testing.B) {
	for _, size := range []int{60, 1200} {
		for _, together := range []int{1, 2} {
			b.Run(fmt.Sprintf("bytes=%d/together=%d", size, together), func(b *testing.B) {
				owner := benchmarkOwner(b)
				var left atomic.Int64
				left.Store(int64(b.N))
				var senders sync.WaitGroup
				b.ResetTimer()
				report := cputime.Measure(b)
				for range together {
					senders.Go(func() {
						for request := make([]byte, size); left.Add(-1) >= 0; {
							if err := owner.Send(b.Context(), request, func([]byte) {}); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				senders.Wait()
				report()
			})
		}
	}
}

// benchmarkOwner returns a peer that answers each request with half as many bytes.
func benchmarkOwner(b *testing.B) stream.Peer {
	r := newRegistry()
	start(b, r, func(_ context.Context, request []byte, answer func([]byte)) error {
		answer(request[:len(request)/2])
		return nil
	}, "poll/")
	owner := start(b, r, saying("n")).Peers(kind).Owner("poll/1")
	if owner == nil {
		b.Fatal("the owner is not reachable")
	}
	return owner
}
