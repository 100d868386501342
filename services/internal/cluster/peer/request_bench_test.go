package peer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/testing/cputime"
)

// sendFunc sends a request and gives receive each part of its answer.
type sendFunc func(ctx context.Context, request []byte, receive func(part []byte)) error

// BenchmarkRequest sends requests to another node over a TLS connection of this machine. An
// operation is a request with its answer, and its processor time that of both ends. Two at a
// time are as many as package stream has under way while its owner is quick; the sizes are
// those of a vote and of 20 votes for as many polls.
func BenchmarkRequest(b *testing.B) { benchmarkRequests(b, nodeSender) }

// BenchmarkHTTP2 sends what BenchmarkRequest does as requests of HTTP/2, on one connection too:
// decision 16 compares them.
func BenchmarkHTTP2(b *testing.B) { benchmarkRequests(b, http2Sender) }

func benchmarkRequests(b *testing.B, newSender func(b *testing.B) sendFunc) {
	for _, size := range []int{60, 1200} {
		for _, together := range []int{1, 2} {
			b.Run(fmt.Sprintf("bytes=%d/together=%d", size, together), func(b *testing.B) {
				send := newSender(b)
				var left atomic.Int64
				left.Store(int64(b.N))
				var senders sync.WaitGroup
				b.ResetTimer()
				report := cputime.Measure(b)
				for range together {
					senders.Go(func() {
						for request := make([]byte, size); left.Add(-1) >= 0; {
							if err := send(b.Context(), request, func([]byte) {}); err != nil {
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

// nodeSender sends to a node that answers each request with half as many bytes.
func nodeSender(b *testing.B) sendFunc {
	r := newRegistry()
	start(b, r, func(_ context.Context, request []byte, answer func([]byte)) error {
		answer(request[:len(request)/2])
		return nil
	}, "poll/")
	owner := start(b, r, saying("n")).Peers(kind).Owner("poll/1")
	if owner == nil {
		b.Fatal("the owner is not reachable")
	}
	return owner.Send
}

// http2Sender sends to a server of HTTP/2 that answers each request with half as many bytes,
// which leave before the answer ends: a part may not wait for the next.
func http2Sender(b *testing.B) sendFunc {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := make([]byte, r.ContentLength)
		if _, err := io.ReadFull(r.Body, request); err != nil {
			b.Error(err)
		}
		_, _ = w.Write(request[:len(request)/2])
		_ = http.NewResponseController(w).Flush() // the client sees the error
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	b.Cleanup(server.Close)
	client := server.Client()
	return func(ctx context.Context, request []byte, receive func(part []byte)) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, bytes.NewReader(request))
		if err != nil {
			return err
		}
		response, err := client.Do(r)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		if err != nil || response.ProtoMajor != 2 || len(answer) != len(request)/2 {
			return fmt.Errorf("%s, %d bytes: %w", response.Proto, len(answer), err)
		}
		receive(answer)
		return nil
	}
}
