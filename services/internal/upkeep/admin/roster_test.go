package admin_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
	"github.com/acclaim-dev/acclaim/services/roster"
)

func agedRoster(i int) roster.Roster {
	return roster.Roster{Environment: "production", Extension: agedExtension(i)}
}

// note notes viewers in each roster: those with a minus stop to share their id.
func (a *aged) note(notes ...string) {
	a.Helper()
	for i := range agedStreams {
		for _, note := range notes {
			id, gone := strings.CutPrefix(note, "-")
			a.must(a.d.viewers.Note(a.Context(), agedRoster(i), id, !gone))
		}
	}
}

func (a *aged) wantViewers(when string, i int, want ...string) {
	a.Helper()
	page, err := a.d.viewers.List(a.Context(), agedRoster(i), 0)
	if diff := cmp.Diff(want, page.UserIDs); diff != "" || err != nil {
		a.Errorf("%s: %v, the list of %s is (-want +got):\n%s", when, err, agedExtension(i), diff)
	}
}

// names reports whether the log of a roster has an id.
func (a *aged) names(i int, id string) bool {
	a.Helper()
	for chunk, err := range a.store.Chunks(a.Context(), agedRoster(i).Stream(), 0) {
		a.must(err)
		if bytes.Contains(chunk.Payload, []byte(id)) {
			return true
		}
	}
	return false
}

// Retention leaves the list of an extension's viewers as it is, and forgets viewers that have
// left it. An erasure takes a viewer out of list and log. Both are exported.
func TestRosters(t *testing.T) {
	a := newAged(t, `
extensions:
- {clientID: forgetful, secrets: [{value: aC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}], retention: {logs: 2h}}
- {clientID: elephant, secrets: [{value: aS1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}
`)
	a.note("10001", "20002", "30003", "-20002")
	a.clock.pass(3 * time.Hour)
	a.note("40004")
	a.must(a.worker.RunOnce(t.Context(), false))
	for _, when := range []string{"after retention", "after a restart"} {
		for i, kept := range []bool{false, true} {
			a.wantViewers(when, i, "10001", "30003", "40004")
			if a.names(i, "20002") != kept || !a.names(i, "10001") {
				t.Errorf("%s the log of %s names 20002: %t, want %t", when, agedExtension(i), !kept, kept)
			}
		}
		a.close()
		a.open()
	}
	a.wantSound()
	erase := admin.NewErasureService(a.store, a.d.table, a.store)
	for _, id := range []string{"10001", "40004"} { // of the checkpoint, of the log
		r, err := erase.Erase(t.Context(), agedExtension(0), admin.Target{Viewer: rewrite.Viewer{IDs: []string{id}}}, func(int) {})
		if err != nil || r.Kinds[roster.Kind] == nil || r.Kinds[roster.Kind].Found != 1 || a.names(0, id) {
			t.Errorf("%s: %+v, %v, still named: %t", id, r.Kinds[roster.Kind], err, a.names(0, id))
		}
	}
	a.wantViewers("after erasures", 0, "30003")
	a.wantViewers("of another extension", 1, "10001", "30003", "40004")
	a.note("10001") // a viewer who returns is a new one
	a.wantViewers("after a return", 0, "30003", "10001")
	a.wantSound()
	file := a.export()
	a.close()
	a.store = storetest.NewMemory()
	_, err := transfer.Import(t.Context(), strings.NewReader(file), a.store, nil)
	a.must(err)
	a.open()
	a.wantViewers("after an import", 0, "30003", "10001")
	if again := a.export(); again != file || !strings.Contains(file, `"kind":"viewers"`) {
		t.Errorf("the export of what was imported differs from\n%s", file)
	}
}

// A list of viewers that was changed behind the program's back is found.
func TestVerifyOfDamagedRosters(t *testing.T) {
	a := newAged(t, `extensions: [{clientID: elephant, secrets: [{value: aC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}]`)
	a.note("10001", "20002")
	var chunks []stream.Chunk
	for chunk, err := range a.store.Chunks(t.Context(), agedRoster(1).Stream(), 0) {
		a.must(err)
		chunk.Payload = bytes.Replace(bytes.Clone(chunk.Payload), []byte("10001"), []byte("10002"), 1)
		chunks = append(chunks, chunk)
	}
	v := verify(t, storetest.NewMemoryOf(chunks...))
	if figures := v.Kinds[roster.Kind]; figures == nil || figures.Streams != 1 || figures.Problems != 1 || len(v.Problems) != 1 {
		t.Errorf("%+v, %+v", figures, v.Problems)
	}
	if v := verify(t, a.store); len(v.Problems) > 0 || v.Kinds[roster.Kind].Streams != agedStreams || v.Kinds[roster.Kind].Entries != 2*agedStreams {
		t.Errorf("of sound ones: %+v, %+v", v.Kinds[roster.Kind], v.Problems)
	}
}
