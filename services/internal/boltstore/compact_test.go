package boltstore

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A compacted store holds all that is stored and nothing that was.
func TestCompact(t *testing.T) {
	s := newHarness(t, defaultLimits())
	const secret = "the secret that is to go"
	for i := range 5 {
		name := fmt.Sprint("stream-", i)
		appendChunks(t, s.Store, name, 1, 40)
		putVersions(t, s.Store, fmt.Sprint("document-", i), 1, sampleLast)
		if err := s.SaveSnapshot(t.Context(), name, newSnapshot(name, 1, sampleSnapshot)); err != nil {
			t.Fatal(err)
		}
	}
	before := newChunk("redacted", 1)
	before.Payload = bytes.Repeat([]byte(secret), 300)
	if err := s.Append(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	s.Reopen(t) // into the records
	after := before
	after.Payload, after.Original = []byte("nothing"), before.Sum()
	if err := s.Replace(t.Context(), after, before.Sum()); err != nil {
		t.Fatal(err)
	}
	if err := Compact(s.dir); err == nil {
		t.Error("a store in use was compacted")
	}
	mustClose(t, s.Store)
	if !fileHolds(t, s.dir, secret) {
		t.Fatal("the secret is not in a free page, so this test shows nothing")
	}
	if err := Compact(s.dir); err != nil {
		t.Fatal(err)
	}
	if fileHolds(t, s.dir, secret) {
		t.Error("the secret is there still")
	}
	if files, err := os.ReadDir(s.dir); err != nil || len(files) != 1 {
		t.Errorf("the folder holds %v, %v", files, err)
	}
	s.Store = mustOpen(t, s.dir, defaultLimits())
	for i := range 5 {
		name := fmt.Sprint("stream-", i)
		wantStream(t, s.Store, name, 40)
		if err := checkSnapshot(t.Context(), s.Store, name); err != nil {
			t.Error(err)
		}
		if err := checkDocument(t.Context(), s.Store, fmt.Sprint("document-", i)); err != nil {
			t.Error(err)
		}
	}
	for chunk, err := range s.Chunks(t.Context(), "redacted", 0) {
		if err != nil || chunk.Sum() != after.Sum() {
			t.Errorf("got %+v, %v", chunk, err)
		}
	}
	appendChunks(t, s.Store, "stream-0", 41, 42)
	s.Reopen(t)
	wantStream(t, s.Store, "stream-0", 42)
}

func TestCompactCreatesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := Compact(dir); err == nil {
		t.Error("an empty folder was compacted")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("the folder holds %v, %v", files, err)
	}
}

func fileHolds(t *testing.T, dir, text string) bool {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(content, []byte(text))
}
