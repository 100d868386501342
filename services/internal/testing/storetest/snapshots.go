package storetest

import (
	"math/rand/v2"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// newSnapshot returns a snapshot whose content follows from its arguments.
func newSnapshot(seed byte, size int) stream.Snapshot {
	snapshot := stream.Snapshot{
		Head:   stream.Head{Seq: uint64(seed), At: int64(seed) << 40, Sum: stream.Digest{0: seed, 31: 1}},
		Format: 1<<31 + uint32(seed),
		State:  make([]byte, size),
	}
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(snapshot.State)
	return snapshot
}

func save(t *testing.T, s Store, name string, snapshot stream.Snapshot) {
	t.Helper()
	if err := s.SaveSnapshot(t.Context(), name, snapshot); err != nil {
		t.Errorf("save %s: %v", name, err)
	}
}

func load(t *testing.T, s Store, name string) (stream.Snapshot, bool) {
	t.Helper()
	snapshot, ok, err := s.LoadSnapshot(t.Context(), name)
	if err != nil {
		t.Errorf("load %s: %v", name, err)
	}
	return snapshot, ok
}

func wantSnapshot(t *testing.T, s Store, name string, want stream.Snapshot) {
	t.Helper()
	got, ok := load(t, s, name)
	if diff := diff(want, got); !ok || diff != "" {
		t.Errorf("snapshot of %s: ok = %t (-want +got):\n%s", name, ok, diff)
	}
}

func wantNoSnapshot(t *testing.T, s Store, name string) {
	t.Helper()
	if snapshot, ok := load(t, s, name); ok {
		t.Errorf("%s has a snapshot at %d, want none", name, snapshot.Head.Seq)
	}
}

func snapshotBeginsAbsent(t *testing.T, s Harness) {
	add(t, s, newChunk("s", 1, 0, 10))
	wantNoSnapshot(t, s, "s")
}

// snapshotIsReplaced by larger and smaller ones.
func snapshotIsReplaced(t *testing.T, s Harness) {
	for i, size := range []int{10, 0, 20 << 20, 3 << 20, 1 << 20, 1<<20 + 1, 10} {
		snapshot := newSnapshot(byte(i+1), size)
		save(t, s, "s", snapshot)
		wantSnapshot(t, s, "s", snapshot)
	}
	s.Reopen(t)
	wantSnapshot(t, s, "s", newSnapshot(7, 10))
}

func snapshotBelongsToItsStream(t *testing.T, s Harness) {
	names := []string{"a", "a/b", "ab", "b"}
	for i, name := range names {
		save(t, s, name, newSnapshot(byte(i), 1000))
		save(t, s, name, newSnapshot(byte(i), 2000))
	}
	for i, name := range names {
		wantSnapshot(t, s, name, newSnapshot(byte(i), 2000))
	}
	wantNoSnapshot(t, s, "a/")
}

func snapshotIsTheCallersToKeep(t *testing.T, s Harness) {
	save(t, s, "s", newSnapshot(1, 1000))
	snapshot, _ := load(t, s, "s")
	clear(snapshot.State)
	wantSnapshot(t, s, "s", newSnapshot(1, 1000))
}

// snapshotSaveRace: one of several snapshots saved at a time stays, or none,
// never a mixture.
func snapshotSaveRace(t *testing.T, s Harness) {
	const writers, size = 4, 3 << 20
	concurrently(writers, func(i int) {
		save(t, s, "s", newSnapshot(byte(i), size))
		snapshot, ok := load(t, s, "s")
		if ok && diff(newSnapshot(byte(snapshot.Head.Seq), size), snapshot) != "" {
			t.Errorf("loaded a mixture of snapshots")
		}
	})
	save(t, s, "s", newSnapshot(99, size))
	wantSnapshot(t, s, "s", newSnapshot(99, size))
}

func snapshotSurvivesReopen(t *testing.T, s Harness) {
	save(t, s, "s", newSnapshot(1, 20<<20))
	s.Reopen(t)
	wantSnapshot(t, s, "s", newSnapshot(1, 20<<20))
	save(t, s, "s", newSnapshot(2, 5<<20))
	s.Reopen(t)
	wantSnapshot(t, s, "s", newSnapshot(2, 5<<20))
}

func snapshotIsDeleted(t *testing.T, s Harness) {
	deleteSnapshot(t, s, "s")
	for i, size := range []int{10, 20 << 20} {
		save(t, s, "s", newSnapshot(byte(i), size))
		save(t, s, "s/other", newSnapshot(byte(i), size))
		deleteSnapshot(t, s, "s")
		wantNoSnapshot(t, s, "s")
		wantSnapshot(t, s, "s/other", newSnapshot(byte(i), size))
		s.Reopen(t)
		wantNoSnapshot(t, s, "s")
	}
	save(t, s, "s", newSnapshot(9, 3<<20))
	wantSnapshot(t, s, "s", newSnapshot(9, 3<<20))
}

func deleteSnapshot(t *testing.T, s Store, name string) {
	t.Helper()
	if err := s.DeleteSnapshot(t.Context(), name); err != nil {
		t.Errorf("delete the snapshot of %s: %v", name, err)
	}
}
