package pebblestore

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

func mustOpen(t *testing.T, dir string, c config) *Store {
	t.Helper()
	s, err := open(dir, c, true)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

func mustClose(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// newChunk returns the one and only chunk with that seq of that stream.
func newChunk(name string, seq uint64) stream.Chunk {
	chunk := stream.Chunk{Stream: name, Seq: seq, At: int64(seq) * 10, Count: int(seq % 7), Payload: []byte(fmt.Sprintf("%s chunk %d ", name, seq))}
	for len(chunk.Payload) < int(seq%5)*100 {
		chunk.Payload = append(chunk.Payload, chunk.Payload...)
	}
	binary.BigEndian.PutUint64(chunk.ID[:], seq)
	return chunk
}

// newWrite returns the one and only write that makes that version of a document.
func newWrite(key string, version uint64) document.Write {
	w := document.Write{Key: key, Expect: version - 1, Body: []byte(fmt.Sprintf(`{"%s":%d}`, key, version))}
	binary.BigEndian.PutUint64(w.ID[:], version)
	return w
}

// newDocument returns what the first writes of a document make of it.
func newDocument(key string, version uint64) document.Document {
	if version == 0 {
		return document.Document{}
	}
	w := newWrite(key, version)
	return document.Document{Version: version, ID: w.ID, Body: w.Body}
}

func newSnapshot(name string, seq uint64, size int) stream.Snapshot {
	state := make([]byte, size)
	for i := range state {
		state[i] = byte(i*i>>8) + byte(seq)
	}
	return stream.Snapshot{Head: stream.Head{Seq: seq, At: int64(len(name))}, Format: 3, State: state}
}

// appendChunks appends the chunks first to last of a stream.
func appendChunks(t *testing.T, s *Store, name string, first, last uint64) {
	t.Helper()
	for seq := first; seq <= last; seq++ {
		if err := s.Append(t.Context(), newChunk(name, seq)); err != nil {
			t.Errorf("append %s %d: %v", name, seq, err)
		}
	}
}

// putVersions writes the versions first to last of a document.
func putVersions(t *testing.T, s *Store, key string, first, last uint64) {
	t.Helper()
	for version := first; version <= last; version++ {
		if err := s.Put(t.Context(), newWrite(key, version)); err != nil {
			t.Errorf("put %s %d: %v", key, version, err)
		}
	}
}

// wantStream fails the test unless a stream consists of its first chunks.
func wantStream(t *testing.T, s *Store, name string, last uint64) {
	t.Helper()
	seen := uint64(0)
	for chunk, err := range s.Chunks(t.Context(), name, 0) {
		if err != nil {
			t.Errorf("read %s: %v", name, err)
			return
		}
		seen++
		if want := newChunk(name, seen); chunk.Sum() != want.Sum() {
			t.Errorf("%s chunk %d (-want +got):\n%s", name, seen, cmp.Diff(want, chunk))
			return
		}
	}
	if seen != last {
		t.Errorf("%s has %d chunks, want %d", name, seen, last)
	}
}

func wantDocument(t *testing.T, s *Store, key string, version uint64) {
	t.Helper()
	found, err := s.Get(t.Context(), key)
	if diff := cmp.Diff([]document.Document{newDocument(key, version)}, found); err != nil || diff != "" {
		t.Errorf("document %s: %v (-want +got):\n%s", key, err, diff)
	}
}
