package resultlog

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"reflect"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

func reportOf(poll, list byte, size int64, status verifiable.TreeStatus) Report {
	return Report{Stream: fmt.Sprint("poll/", poll), Leaf: verifiable.LogLeaf{
		Kind: verifiable.LogPoll, Poll: verifiable.PollKey{poll}, Tree: verifiable.TreeID{list}, Status: status,
		Entries: tlog.Tree{N: size, Hash: tlog.Hash{list, byte(size)}},
	}}
}

// A log that is read again, from its snapshot and from its chunks, is the same, and so are its leaves.
func TestLogIsReadAgain(t *testing.T) {
	ctx, store := t.Context(), storetest.NewMemory()
	open := func() *Service {
		s := NewService(store, stream.SystemClock(), stream.Options{SnapshotTail: 1})
		t.Cleanup(func() { _ = s.Close(context.WithoutCancel(ctx)) })
		return s
	}
	s := open()
	if _, err := s.Append(ctx, []Report{reportOf(1, 1, 1, verifiable.TreeOpen)}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a report before the beginning: %v", err)
	}
	for _, origin := range []string{"votes.example/00000000", "votes.example/11111111"} { // of two processes at once
		if log, err := s.Begin(ctx, "", origin); err != nil || log.Origin != "votes.example/00000000" {
			t.Fatal(log, err)
		}
	}
	for i := range byte(40) {
		refused, err := s.Append(ctx, []Report{reportOf(i, i, 2, verifiable.TreeOpen), reportOf(i, i, 2, verifiable.TreeOpen)})
		if err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
	}
	if refused, err := s.Append(ctx, []Report{reportOf(1, 1, 1, verifiable.TreeOpen), reportOf(2, 2, 2, verifiable.TreeReset), reportOf(3, 99, 5, verifiable.TreeOpen)}); err != nil || len(refused) != 1 || refused[0] != errSmaller.Error() {
		t.Fatal(refused, err)
	}
	key, err := verifiable.NewSigner("votes.example/00000000", ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if log, err := s.HandOver(ctx, key.Key().String()); err != nil || len(log.Keys) != 1 {
			t.Fatal(log, err)
		}
	}
	if _, err := s.HandOver(ctx, "another log"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a key of another log: %v", err)
	}
	before, err := s.Read(ctx)
	if want := int64(1 + 40 + 1 + 2 + 1); err != nil || before.Tree.N != want {
		t.Fatalf("%d leaves, want %d, %v", before.Tree.N, want, err)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again := open()
		after, err := again.Read(ctx)
		if err != nil || !reflect.DeepEqual(after, before) {
			t.Fatalf("the log is %+v and was %+v, %v", after, before, err)
		}
		names, err := again.Unfinished(ctx, "")
		if err != nil || len(names) != 39 {
			t.Errorf("%d unfinished polls, %v", len(names), err)
		}
		if r, _, err := again.Find(ctx, verifiable.TreeID{99}); err != nil || r.Leaf().Prev != verifiable.NoLeaf || r.Stream != "poll/3" {
			t.Errorf("the newest list is %+v, %v", r, err)
		}
		var tree verifiable.Frontier
		if err := again.Leaves(ctx, 0, after.Tree.N, func(_ int64, data []byte) { tree.Append(data) }); err != nil || tree.Tree() != after.Tree {
			t.Errorf("the leaves give %+v, %v", tree.Tree(), err)
		}
		if err := store.DeleteSnapshot(ctx, "log/results"); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzEntry: bytes that decode are an entry that encodes and applies.
func FuzzEntry(f *testing.F) {
	f.Add(logRules{}.AppendEntry(nil, &leavesEntry{begun: 1, first: 2, leaves: []newLeaf{{"poll/1", []byte("x")}}}))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		r := wire.NewReader(encoded)
		e := logRules{}.DecodeEntry(r)
		if r.Err() != nil {
			return
		}
		again := logRules{}.AppendEntry(nil, e)
		if second := (logRules{}).AppendEntry(nil, logRules{}.DecodeEntry(wire.NewReader(again))); string(second) != string(again) {
			t.Errorf("%x becomes %x", again, second)
		}
		logRules{}.Apply(logRules{}.New(), 0, e)
	})
}
