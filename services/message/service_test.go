package message_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
)

func open(t *testing.T, store stream.Store) *message.Service {
	s := message.NewService(store, stream.SystemClock(), stream.Options{SnapshotTail: 1 << 10})
	t.Cleanup(func() { _ = s.Close(t.Context()) })
	return s
}

func channel() message.Feed {
	return message.Feed{Environment: "production", Extension: "ext", Channel: "1"}
}

func publish(t *testing.T, s *message.Service, f message.Feed, to, name, data string) {
	t.Helper()
	if err := s.Publish(t.Context(), f, message.Message{To: to, Name: name, Data: json.RawMessage(data)}); err != nil {
		t.Fatal(err)
	}
}

func since(t *testing.T, s *message.Service, f message.Feed, after uint64) (all []string, last uint64) {
	t.Helper()
	page, err := s.Since(t.Context(), f, after)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range page.Messages {
		all = append(all, fmt.Sprintf("%d %s %s %s", m.Number, m.To, m.Name, m.Data))
	}
	return all, page.Last
}

func TestMessagesAreNumberedInTheOrderTheyWerePublished(t *testing.T) {
	store := storetest.NewMemory()
	s := open(t, store)
	everywhere := message.Feed{Environment: "production", Extension: "ext", Global: true}
	publish(t, s, channel(), "", "goal", `{"by":1}`)
	publish(t, s, channel(), "U5", "hint", `"left"`)
	publish(t, s, everywhere, "", "goal", `{"by":2}`)
	for _, s := range []*message.Service{s, open(t, store)} { // one that published them, one that reads the log
		for after, want := range map[uint64][]string{
			0: {`1  goal {"by":1}`, `2 U5 hint "left"`},
			1: {`2 U5 hint "left"`},
			2: nil,
			9: nil,
		} {
			got, last := since(t, s, channel(), after)
			if diff := cmp.Diff(want, got); diff != "" || last != 2 {
				t.Errorf("after %d, last %d (-want +got):\n%s", after, last, diff)
			}
		}
		if got, _ := since(t, s, everywhere, 0); len(got) != 1 {
			t.Errorf("the extension's feed has %q", got)
		}
	}
}

// A feed forgets its oldest messages and goes on counting, through snapshots and
// restarts.
func TestOldMessagesAreForgotten(t *testing.T) {
	store := storetest.NewMemory()
	s := open(t, store)
	const published = 300
	for range published {
		publish(t, s, channel(), "", "tick", `{}`)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = open(t, store)
	got, last := since(t, s, channel(), 10)
	if last != published || len(got) != 256 || got[255] != "300  tick {}" {
		t.Errorf("%d messages of %d, the last one %q", len(got), last, got[len(got)-1])
	}
	if report, err := s.Verify(t.Context(), channel().Stream()); err != nil || !report.Snapshot {
		t.Errorf("verify: %+v, %v", report, err)
	}
}

// Messages leave the log, not the memory: a subscriber that returns receives the same
// as before, from the log as from a snapshot.
func TestTruncation(t *testing.T) {
	store := storetest.NewMemory()
	s := open(t, store)
	for i := range 300 {
		publish(t, s, channel(), []string{"", "leaving"}[i%2], "tick", "{}")
	}
	want, _ := since(t, s, channel(), 290)
	name := channel().Stream()
	before := time.Now().Add(time.Minute)
	if due, err := s.NeedsTruncation(t.Context(), name, before); !due || err != nil {
		t.Errorf("trimmable: %t, %v", due, err)
	}
	truncated, err := s.Truncate(t.Context(), name, before)
	if err != nil || truncated.Chunks != 300 {
		t.Errorf("truncated %+v, %v", truncated, err)
	}
	if err := store.DeleteSnapshot(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*message.Service{s, open(t, store)} {
		got, last := since(t, s, channel(), 290)
		if diff := cmp.Diff(want, got); diff != "" || last != 300 {
			t.Errorf("last %d (-want +got):\n%s", last, diff)
		}
		if got, _ := since(t, s, channel(), 10); len(got) != 256 {
			t.Errorf("%d messages are at hand", len(got))
		}
	}
	if _, err := s.Erase(t.Context(), name, rewrite.Viewer{IDs: []string{"leaving"}}); err != nil {
		t.Error(err)
	}
	for chunk, err := range store.Chunks(t.Context(), name, 0) {
		if err != nil || bytes.Contains(chunk.Payload, []byte("leaving")) {
			t.Errorf("chunk %d names the viewer, %v", chunk.Seq, err)
		}
	}
	publish(t, s, channel(), "", "tick", "{}")
	if got, last := since(t, s, channel(), 300); last != 301 || len(got) != 1 {
		t.Errorf("after that %q, last %d", got, last)
	}
	if report, err := s.Verify(t.Context(), name); err != nil || report.Truncated != 300 {
		t.Errorf("verify: %+v, %v", report, err)
	}
}

func TestLargeMessagesAreForgottenSooner(t *testing.T) {
	s := open(t, storetest.NewMemory())
	large := `"` + strings.Repeat("x", 5000) + `"`
	for range 200 {
		publish(t, s, channel(), "", "tick", large)
	}
	if got, _ := since(t, s, channel(), 0); len(got) < 50 || len(got) > 110 {
		t.Errorf("%d messages of 5 kB are kept, want some 100", len(got))
	}
}

func TestRefusals(t *testing.T) {
	s := open(t, storetest.NewMemory())
	for name, test := range map[string]struct {
		message message.Message
		kind    fault.Kind
	}{
		"no name":            {message.Message{}, fault.Invalid},
		"a long name":        {message.Message{Name: strings.Repeat("n", 129)}, fault.Invalid},
		"a wildcard":         {message.Message{Name: "a*"}, fault.Invalid},
		"two lines":          {message.Message{Name: "a\nb"}, fault.Invalid},
		"the service's name": {message.Message{Name: "vote_update:p"}, fault.Invalid},
		"too much":           {message.Message{Name: "a", Data: make([]byte, contract.MaxMessageData+1)}, fault.TooLarge},
	} {
		if err := s.Publish(t.Context(), channel(), test.message); fault.KindOf(err) != test.kind || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, last := since(t, s, channel(), 0); last != 0 {
		t.Errorf("%d refused messages are stored", last)
	}
}

// An erased viewer leaves the messages: they are addressed to another id or hold no
// data. Messages to all stay.
func TestErase(t *testing.T) {
	for _, drop := range []bool{false, true} {
		s := open(t, storetest.NewMemory())
		publish(t, s, channel(), "", "goal", `{"by":1}`)
		publish(t, s, channel(), "U5", "hint", `"left"`)
		publish(t, s, channel(), "U6", "hint", `"right"`)
		erased, err := s.Erase(t.Context(), channel().Stream(), rewrite.Viewer{IDs: []string{"U5"}, DropData: drop})
		if err != nil || erased.Entries != 1 {
			t.Errorf("erased %+v, %v, want one entry", erased, err)
		}
		page, err := s.Since(t.Context(), channel(), 0)
		if err != nil || len(page.Messages) != 3 {
			t.Fatalf("%+v, %v", page, err)
		}
		m, want := page.Messages[1], `"left"`
		if drop {
			want = "null"
		}
		if m.Number != 2 || m.To == "U5" || m.To == "" || string(m.Data) != want {
			t.Errorf("the erased viewer's message is %+v", m)
		}
		page.Messages[1].To, page.Messages[1].Data = "", nil
		all := []message.Message{
			{Number: 1, Name: "goal", Data: json.RawMessage(`{"by":1}`)}, {Number: 2, Name: "hint"},
			{Number: 3, To: "U6", Name: "hint", Data: json.RawMessage(`"right"`)},
		}
		if diff := cmp.Diff(all, page.Messages); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	}
}

// Forward reads messages that are no longer in memory from a place in the log, in
// stretches.
func TestForward(t *testing.T) {
	const published = 300
	s := open(t, storetest.NewMemory())
	for n := range published {
		publish(t, s, channel(), "", "tick", fmt.Sprint(n+1))
	}
	if _, err := s.Erase(t.Context(), channel().Stream(), rewrite.Viewer{IDs: []string{"U5"}}); err != nil {
		t.Fatal(err)
	}
	var at message.Place
	after := uint64(10)
	for stretches := 0; after < published; stretches++ {
		messages, end, err := s.Forward(t.Context(), channel(), at, after)
		if err != nil || len(messages) == 0 || len(messages) > 100 || stretches > 5 {
			t.Fatalf("%d messages after %d, %v", len(messages), after, err)
		}
		for _, m := range messages {
			if after++; m.Number != after || string(m.Data) != fmt.Sprint(after) {
				t.Fatalf("message %+v, want %d", m, after)
			}
		}
		if at = end; at.Last != after {
			t.Errorf("%+v after message %d", at, after)
		}
	}
	if messages, end, err := s.Forward(t.Context(), channel(), at, after); err != nil || len(messages) > 0 || end.Last != published {
		t.Errorf("%d messages at the end, %+v, %v", len(messages), end, err)
	}
}
