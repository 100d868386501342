package mongostore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// A consumer may be as slow as it likes: between two chunks nothing is open that
// could time out or break.
func TestSlowConsumer(t *testing.T) {
	t.Parallel()
	s, other, proxy := behindProxy(t)
	const chunks = pageChunks + 400
	var records []*chunkRecord
	for seq := range uint64(chunks) {
		records = append(records, newChunkRecord(&stream.Chunk{Stream: "s", Seq: seq + 1, Payload: []byte("p")}))
	}
	for some := range slices.Chunk(records, chunksAtOnce) {
		if err := other.insertChunks(t.Context(), some); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, err := range s.Chunks(t.Context(), "s", 0) {
		if err != nil {
			t.Fatalf("after %d chunks: %v", n, err)
		}
		if n++; n%300 == 0 {
			proxy.ResetConnections()
		}
	}
	if n != chunks {
		t.Errorf("%d of %d chunks", n, chunks)
	}
}

// Writers that append faster than a consumer reads do not keep it reading.
func TestFastAppenders(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	last := uint64(0)
	add := func() {
		last++
		if err := s.Append(t.Context(), stream.Chunk{Stream: "s", Seq: last, Payload: []byte("p")}); err != nil {
			t.Fatal(err)
		}
	}
	add()
	for chunk, err := range s.Chunks(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Seq > 10*lookups {
			t.Fatalf("%d chunks, and no end", chunk.Seq)
		}
		add()
	}
}

// More names than are read at a time come once each and in order.
func TestManyNames(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	const streams = 2*pageNames + 1
	for i := range streams {
		if err := s.Append(t.Context(), stream.Chunk{Stream: fmt.Sprintf("s/%05d", i), Seq: 1}); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for name, err := range s.Streams(t.Context(), "s/") {
		if want := fmt.Sprintf("s/%05d", n); err != nil || name != want {
			t.Fatalf("%q, %v, want %q", name, err, want)
		}
		n++
	}
	if n != streams {
		t.Errorf("%d of %d streams", n, streams)
	}
}
