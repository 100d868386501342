package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/process/app"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/backup"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// leaver is the id of the viewer to erase.
const leaver = "U-leaving"

// limitedStore takes some writes and no more: its process is killed then. Fewer than none are
// all.
type limitedStore struct {
	*storetest.Memory
	kill context.CancelFunc // ends what would try again
	mu   sync.Mutex
	left int
}

var errKilled = errors.New("the process is killed")

func (s *limitedStore) write(write func() error) error {
	s.mu.Lock()
	killed := s.left == 0
	if !killed {
		s.left--
	}
	s.mu.Unlock()
	if killed {
		s.kill()
		return errKilled
	}
	return write()
}

// Append implements [stream.Store].
func (s *limitedStore) Append(ctx context.Context, chunk stream.Chunk) error {
	return s.write(func() error { return s.Memory.Append(ctx, chunk) })
}

// Replace implements [stream.Store].
func (s *limitedStore) Replace(ctx context.Context, chunk stream.Chunk, expect stream.Digest) error {
	return s.write(func() error { return s.Memory.Replace(ctx, chunk, expect) })
}

// Put implements [document.Store].
func (s *limitedStore) Put(ctx context.Context, writes ...document.Write) error {
	return s.write(func() error { return s.Memory.Put(ctx, writes...) })
}

// Delete implements [document.Store].
func (s *limitedStore) Delete(ctx context.Context, name string) error {
	return s.write(func() error { return s.Memory.Delete(ctx, name) })
}

// Restore implements [app.Store].
func (s *limitedStore) Restore(ctx context.Context, name string, d document.Document) error {
	return s.write(func() error { return s.Memory.Restore(ctx, name, d) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func leaverPoll(id string) voting.Poll {
	return voting.Poll{Environment: "production", Extension: "quiz", Channel: "1", ID: id}
}

// backUpTwice returns the first of two backups, between which the leaver is erased.
func backUpTwice(t *testing.T) *backup.Backup {
	t.Helper()
	store := storetest.NewMemory()
	polls := voting.NewService(store, stream.SystemClock(), stream.Options{})
	for _, poll := range []string{"a", "b"} {
		for _, id := range []string{"U-before", leaver, "U-after"} {
			_, err := polls.Vote(t.Context(), leaverPoll(poll), voting.Voter{OpaqueID: id}, 1, 1)
			must(t, err)
		}
	}
	must(t, polls.Close(t.Context()))
	write := document.Write{Key: key.Name{Kind: key.Document, Environment: "production", Extension: "quiz", Scope: key.ExtensionViewerState, ID: leaver}.String(), Body: []byte("{}")}
	must(t, store.Put(t.Context(), write))
	storage, err := backup.OpenStorage(t.TempDir())
	must(t, err)
	begin := time.UnixMilli(1e12)
	first, err := backup.Create(t.Context(), store, storage, []string{"production"}, begin)
	must(t, err)
	var target admin.Target
	target.IDs, target.At = []string{leaver}, begin
	_, err = admin.NewErasureService(store, app.Domains(store), store).Erase(t.Context(), "quiz", target, func(int) {})
	must(t, err)
	_, err = backup.Create(t.Context(), store, storage, []string{"production"}, begin.Add(time.Second))
	must(t, err)
	b, err := backup.Open(t.Context(), storage, first.Name)
	must(t, err)
	return b
}

// A restore that is killed before any of its writes finishes when it is repeated: the erased
// viewer is nowhere, every vote counts, and the record of the erasure is there.
func TestRestoreIsKilledAtAnyWrite(t *testing.T) {
	b := backUpTwice(t)
	for writes := 0; ; writes++ {
		ctx, kill := context.WithCancel(t.Context())
		store := &limitedStore{Memory: storetest.NewMemory(), kill: kill, left: writes}
		killed := restoreInto(ctx, b, store, b.Extensions, io.Discard, io.Discard)
		kill()
		store.left = -1
		if err := restoreInto(t.Context(), b, store, b.Extensions, io.Discard, io.Discard); err != nil {
			t.Fatalf("killed after %d writes: %v", writes, err)
		}
		if wantRestored(t, store.Memory); t.Failed() {
			t.Fatalf("killed after %d writes", writes)
		}
		if killed == nil {
			if writes < 10 {
				t.Errorf("it ended after %d writes", writes)
			}
			return
		}
	}
}

func wantRestored(t *testing.T, store *storetest.Memory) {
	t.Helper()
	polls := voting.NewService(store, stream.SystemClock(), stream.Options{})
	for _, poll := range []string{"a", "b"} {
		for chunk, err := range store.Chunks(t.Context(), leaverPoll(poll).Stream(), 0) {
			if must(t, err); strings.Contains(string(chunk.Payload), leaver) {
				t.Errorf("chunk %d of poll %s names the viewer", chunk.Seq, poll)
			}
		}
		tally, err := polls.Tally(t.Context(), leaverPoll(poll), voting.Voter{})
		if must(t, err); !strings.Contains(string(tally.AppendJSON(nil)), `"count":3`) {
			t.Errorf("the tally is %s", tally.AppendJSON(nil))
		}
	}
	must(t, polls.Close(t.Context()))
	records := 0
	for name, err := range store.Keys(t.Context(), "") {
		if must(t, err); strings.Contains(name, leaver) {
			t.Errorf("there is the document %s", name)
		}
		if key.KindOf(name) == key.Erased {
			records++
		}
	}
	if records != 1 {
		t.Errorf("%d records of erasures are there", records)
	}
}
