package boltstore

import (
	"fmt"
	"testing"

	"go.etcd.io/bbolt"
)

// stopped returns a store without its goroutine: the test moves records itself.
func stopped(dir string, limits limits) (*Store, error) {
	db, err := openDatabase(dir)
	if err != nil {
		return nil, err
	}
	tables, err := replay(db)
	if err != nil {
		return nil, abandon(db, err)
	}
	return &Store{db: db, tables: tables, writer: newWriter(db, tables, limits), limits: limits}, nil
}

func mustStop(t *testing.T, dir string, limits limits) *Store {
	t.Helper()
	s, err := stopped(dir, limits)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMoveInterrupted opens the file as it is after every step of moving
// records: whatever has been moved before, the store is the same.
func TestMoveInterrupted(t *testing.T) {
	const streams, last = 5, 9
	limits := defaultLimits()
	limits.slice = 3
	old := mustOpen(t, t.TempDir(), defaultLimits())
	for i := range streams {
		appendChunks(t, old, fmt.Sprint("stream-", i), 1, last)
		putVersions(t, old, fmt.Sprint("document-", i), 1, last)
	}
	current := imageOf(t, old)
	mustClose(t, old)

	check := func(i image) {
		s := mustOpen(t, i.write(t), limits)
		defer mustClose(t, s)
		for n := range streams {
			wantStream(t, s, fmt.Sprint("stream-", n), last)
			wantDocument(t, s, fmt.Sprint("document-", n), last)
			appendChunks(t, s, fmt.Sprint("stream-", n), last+1, last+1)
			putVersions(t, s, fmt.Sprint("document-", n), last+1, last+1)
		}
	}
	check(current)
	steps := 0
	for interrupted := true; interrupted; steps++ {
		s := mustStop(t, current.write(t), limits)
		for range steps { // as many slices as it takes to get further than before
			if s.tables.frozen != nil {
				if err := s.writer.moveSlice(); err != nil {
					t.Fatal(err)
				}
			}
		}
		interrupted = s.tables.frozen != nil
		current = imageOf(t, s)
		if err := s.db.close(); err != nil {
			t.Fatal(err)
		}
		check(current)
	}
	if steps < 3 {
		t.Errorf("everything was moved in %d steps, too few to interrupt", steps)
	}
}

// TestCloseLeavesNothingToReplay: a file that was closed has an empty journal.
func TestCloseLeavesNothingToReplay(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, smallLimits())
	for i := range 20 {
		appendChunks(t, s, fmt.Sprint(i), 1, 10)
	}
	mustClose(t, s)
	s = mustStop(t, dir, defaultLimits())
	if s.tables.frozen != nil {
		t.Errorf("%d records are left in the journal", s.tables.frozen.records.Len())
	}
	if err := s.db.close(); err != nil {
		t.Error(err)
	}
}

// TestTablesStayBounded: while records are written faster than they are moved,
// what waits in memory stays about two tables.
func TestTablesStayBounded(t *testing.T) {
	limits := smallLimits()
	s := newHarness(t, limits)
	for i := range 300 {
		appendChunks(t, s.Store, fmt.Sprint("stream-", i%30), uint64(1+i/30), uint64(1+i/30))
		s.tables.mu.RLock()
		size := 0
		for _, table := range s.tables.all() {
			size += table.size
		}
		s.tables.mu.RUnlock()
		if bound := 2*limits.table + 2*limits.batch; size > bound {
			t.Fatalf("tables hold %d bytes, want at most %d", size, bound)
		}
	}
}

// TestSnapshotsLeaveNoParts: replacing a snapshot deletes what it consisted of.
func TestSnapshotsLeaveNoParts(t *testing.T) {
	s := newHarness(t, smallLimits())
	for n, size := range []int{50_000, 100, 30_000, 0, 2500} {
		if err := s.SaveSnapshot(t.Context(), "s", newSnapshot("s", uint64(n), size)); err != nil {
			t.Fatal(err)
		}
	}
	parts := 0
	if err := s.db.view(func(tx *bbolt.Tx) error {
		return bucket(tx, partsBucket).ForEach(func(_, _ []byte) error {
			parts++
			return nil
		})
	}); err != nil || parts != 3 {
		t.Errorf("%d parts are stored, %v, want 3 of 1000 bytes", parts, err)
	}
}
