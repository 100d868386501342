package pebblestore

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// BenchmarkAppend appends chunks of 256 bytes: one appender to one stream, and
// many to many, each stream having one appender at a time.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []struct{ appenders, streams int }{{1, 1}, {256, 1000}} {
		b.Run(fmt.Sprintf("appenders=%d/streams=%d", size.appenders, size.streams), func(b *testing.B) {
			benchmark(b, size.appenders, func(s *Store, n int) error {
				name, seq := fmt.Sprintf("stream-%d", n%size.streams), uint64(n/size.streams)+1
				return s.Append(b.Context(), stream.Chunk{Stream: name, Seq: seq, Payload: make([]byte, 256)})
			})
		})
	}
}

// BenchmarkPut replaces documents of 1 KiB.
func BenchmarkPut(b *testing.B) {
	const documents = 1000
	benchmark(b, 256, func(s *Store, n int) error {
		write := document.Write{Key: fmt.Sprintf("document-%d", n%documents), Expect: uint64(n / documents), Body: make([]byte, 1024)}
		return s.Put(b.Context(), write)
	})
}

// benchmark calls write with 0, 1, 2 ... from a number of goroutines. Two calls
// may change places, so a conflict is tried again.
func benchmark(b *testing.B, goroutines int, write func(s *Store, n int) error) {
	s, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer mustClose(b, s)
	var next atomic.Int64
	var workers sync.WaitGroup
	b.ResetTimer()
	for range goroutines {
		workers.Go(func() {
			for n := int(next.Add(1)) - 1; n < b.N; n = int(next.Add(1)) - 1 {
				err := write(s, n)
				for errors.Is(err, document.ErrConflict) {
					err = write(s, n)
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
	b.ReportMetric(float64(b.N)/float64(s.commits), "writes/commit")
}
