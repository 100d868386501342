package accumulation_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

func newService(t *testing.T, store stream.Store) *accumulation.Service {
	t.Helper()
	s := accumulation.NewService(store, stream.SystemClock(), stream.Options{})
	t.Cleanup(func() {
		if err := s.Close(t.Context()); err != nil {
			t.Logf("close: %v", err)
		}
	})
	return s
}

var buffer = accumulation.Buffer{Environment: "production", Extension: "x", Name: "default"}

func submit(t *testing.T, s *accumulation.Service, channel, data string) {
	t.Helper()
	err := s.Append(t.Context(), buffer, accumulation.Submission{
		ChannelID: channel, OpaqueID: "U1", UserID: "1", Data: json.RawMessage(data),
	})
	if err != nil {
		t.Error(err)
	}
}

// page reads one page and checks that its times ascend.
func page(t *testing.T, s *accumulation.Service, start int64, channel *string) (data []string, latest int64) {
	t.Helper()
	for entry, err := range s.Entries(t.Context(), buffer, start, channel) {
		if err != nil {
			t.Error(err)
			return data, latest
		}
		if entry.Observed < latest || entry.Observed <= start {
			t.Errorf("observed %d after %d, start %d", entry.Observed, latest, start)
		}
		latest = entry.Observed
		data = append(data, string(entry.Data))
	}
	return data, latest
}

func TestEntriesComeBackInOrder(t *testing.T) { // section 4.2, rule 3
	s := newService(t, storetest.NewMemory())
	if data, latest := page(t, s, 0, nil); len(data) != 0 || latest != 0 {
		t.Errorf("an empty buffer returned %v, %d", data, latest)
	}
	submit(t, s, "1", `{"n":1}`)
	submit(t, s, "2", `{"n":2}`)
	all, latest := page(t, s, 0, nil)
	if diff := cmp.Diff([]string{`{"n":1}`, `{"n":2}`}, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if rest, _ := page(t, s, latest, nil); len(rest) != 0 {
		t.Errorf("after the last entry came %v", rest)
	}
	channel := "2"
	if mine, _ := page(t, s, 0, &channel); !cmp.Equal(mine, []string{`{"n":2}`}) { // rule 2
		t.Errorf("channel 2 has %v", mine)
	}
	none := ""
	if others, _ := page(t, s, 0, &none); len(others) != 0 {
		t.Errorf("a caller without a channel was given %v", others)
	}
}

// A page is capped, ends with a whole group, and the next goes on after it. A
// filtered page looks on until it has something or the buffer ends.
func TestPagesAreCapped(t *testing.T) {
	s := newService(t, storetest.NewMemory())
	const writers, each = 64, 200
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range each {
				submit(t, s, "1", fmt.Sprintf(`{"w":%d,"n":%d}`, w, n))
			}
		})
	}
	all.Wait()
	submit(t, s, "last", `{"found":true}`)

	seen, start, pages := map[string]bool{}, int64(0), 0
	for {
		data, latest := page(t, s, start, nil)
		if len(data) == 0 {
			break
		}
		if len(data) > 10_000+writers {
			t.Errorf("a page of %d entries", len(data))
		}
		for _, d := range data {
			if seen[d] {
				t.Fatalf("%s came twice", d)
			}
			seen[d] = true
		}
		start, pages = latest, pages+1
	}
	if len(seen) != writers*each+1 || pages != 2 {
		t.Errorf("%d entries in %d pages", len(seen), pages)
	}
	channel := "last"
	if found, _ := page(t, s, 0, &channel); !cmp.Equal(found, []string{`{"found":true}`}) {
		t.Errorf("behind many entries of other channels: %v", found)
	}
}

// A viewer who is erased leaves the entries, under another name, or not even what is
// in them. Cursors stay what they are.
func TestErase(t *testing.T) {
	for _, drop := range []bool{false, true} {
		store := storetest.NewMemory()
		s := newService(t, store)
		b := accumulation.Buffer{Environment: "production", Extension: "x", Name: "b"}
		for _, opaque := range []string{"U1", "U2", "U1"} {
			submission := accumulation.Submission{ChannelID: "1", OpaqueID: opaque, UserID: "7", Data: []byte(`{"of":"` + opaque + `"}`)}
			if err := s.Append(t.Context(), b, submission); err != nil {
				t.Fatal(err)
			}
		}
		before := all(t, s, b)
		erased, err := s.Erase(t.Context(), "buffer/production/x/b", rewrite.Viewer{IDs: []string{"U1"}, DropData: drop})
		if err != nil || erased.Entries != 2 || len(erased.RelatedIDs) != 1 || erased.RelatedIDs[0] != "7" {
			t.Errorf("erased %+v, %v", erased, err)
		}
		for i, entry := range all(t, s, b) {
			was := before[i]
			if was.OpaqueID == "U1" {
				if entry.OpaqueID == "U1" || entry.OpaqueID == "" || drop != (string(entry.Data) == "{}") {
					t.Errorf("entry %d is %+v", i, entry)
				}
				was.OpaqueID, was.Data = entry.OpaqueID, entry.Data
			}
			if diff := cmp.Diff(was, entry); diff != "" {
				t.Errorf("entry %d (-before +after):\n%s", i, diff)
			}
		}
	}
}

func all(t *testing.T, s *accumulation.Service, b accumulation.Buffer) (entries []accumulation.Entry) {
	t.Helper()
	for entry, err := range s.Entries(t.Context(), b, 0, nil) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry)
	}
	return entries
}

// Whatever is appended and cleared at the same time, a read returns the entries since the
// last clearing: before and after a restart, with and without a snapshot, and in a log that
// was truncated or purged.
func TestClear(t *testing.T) {
	store := storetest.NewMemory()
	s := newService(t, store)
	clearBuffer := func() {
		t.Helper()
		if err := s.Clear(t.Context(), buffer); err != nil {
			t.Fatal(err)
		}
	}
	wantData := func(start int64, want ...string) (latest int64) {
		t.Helper()
		for _, reader := range []*accumulation.Service{s, newService(t, store)} {
			got, last := page(t, reader, start, nil)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			latest = last
		}
		return latest
	}
	clearBuffer() // of nothing
	for range 200 {
		submit(t, s, "1", `{"n":1}`)
	}
	cursor := all(t, s, buffer)[70].Observed
	clearBuffer()
	clearBuffer()
	wantData(0)
	wantData(cursor)
	if err := s.AppendExisting(t.Context(), buffer, accumulation.Submission{Data: json.RawMessage("{}")}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a cleared buffer exists: %v", err)
	}
	var both sync.WaitGroup
	for n := range 500 { // some share a chunk
		both.Go(func() { submit(t, s, "1", fmt.Sprintf(`{"n":%d}`, n)) })
		if n%100 == 50 {
			both.Go(clearBuffer)
		}
	}
	both.Wait()
	var left []string
	for _, entry := range all(t, s, buffer) {
		left = append(left, string(entry.Data))
	}
	wantData(cursor, left...)
	clearBuffer()
	submit(t, s, "1", `{"last":true}`)
	observed := wantData(0, `{"last":true}`)
	wantData(cursor, `{"last":true}`)
	wantData(observed)
	if _, err := s.Verify(t.Context(), buffer.Stream()); err != nil {
		t.Error(err)
	}
	if _, err := s.Truncate(t.Context(), buffer.Stream(), time.UnixMilli(observed)); err != nil {
		t.Fatal(err)
	}
	wantData(cursor, `{"last":true}`)
	if _, err := s.Erase(t.Context(), buffer.Stream(), rewrite.Viewer{IDs: []string{"U1"}, DropData: true}); err != nil {
		t.Fatal(err)
	}
	wantData(0, `{}`)
	if found, err := s.Purge(t.Context(), buffer.Stream(), time.Now().Add(time.Hour), false); err != nil || !found.Found {
		t.Errorf("%+v, %v", found, err)
	}
	submit(t, s, "1", `{"n":1}`)
	wantData(cursor, `{"n":1}`)
}
