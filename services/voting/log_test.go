package voting

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

func readLog(t *testing.T, s *Service, p Poll, after Cursor, limit int) (records []LogRecord) {
	t.Helper()
	for record, err := range s.Log(t.Context(), p, after) {
		if err != nil {
			t.Fatal(err)
		}
		if records = append(records, record); len(records) == limit {
			break
		}
	}
	return records
}

// writeLog leaves chunks of one entry and of several, entries of one record and
// of several, and entries that are no votes.
func writeLog(t *testing.T, s *Service) {
	if err := s.Configure(t.Context(), local, limits(99, 99, 99).config); err != nil {
		t.Fatal(err)
	}
	mustVote(t, s, local, ann, 1, 3)
	if err := s.Modify(t.Context(), local, "Uann", -1); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second) //nolint:forbidigo // time is fake in the bubble
	for range 4 {
		go func() {
			if _, err := s.Vote(t.Context(), local, anon, -4, 2); err != nil {
				t.Errorf("vote: %v", err)
			}
		}()
	}
	synctest.Wait()
	if err := s.Reset(t.Context(), local); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) //nolint:forbidigo // time is fake in the bubble
	mustVote(t, s, local, bot, 9, 1)
}

// TestSection23Log: what is recorded, in which order, and that DELETE keeps it.
func TestSection23Log(t *testing.T) {
	serve(t, func(t *testing.T, s *Service) {
		if got := readLog(t, s, local, Cursor{}, 0); len(got) > 0 {
			t.Errorf("the log of an unknown poll is %v", got)
		}
		first := time.Now().Unix()
		writeLog(t, s)
		var want []LogRecord
		for range 3 {
			want = append(want, LogRecord{Identifier: "1", Opaque: "Uann", Value: 1, Timestamp: first})
		}
		for range 8 {
			want = append(want, LogRecord{Opaque: "Aanon", Value: -4, Timestamp: first + 2})
		}
		want = append(want, LogRecord{Identifier: "3", Value: 9, Timestamp: first + 3})
		got := readLog(t, s, local, Cursor{}, 0)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(LogRecord{}, "At")); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		other := local
		other.Channel = "c2"
		if got := readLog(t, s, other, Cursor{}, 0); len(got) > 0 {
			t.Errorf("the log of another channel's poll is %v", got)
		}
	})
}

// TestLogPages: a log read in pages of any size is the log, and each cursor
// survives its text.
func TestLogPages(t *testing.T) {
	serve(t, func(t *testing.T, s *Service) {
		writeLog(t, s)
		want := readLog(t, s, local, Cursor{}, 0)
		for limit := 1; limit <= len(want); limit++ {
			var got []LogRecord
			var after Cursor
			for range 1 + len(want)/limit {
				page := readLog(t, s, local, after, limit)
				got = append(got, page...)
				if len(page) == 0 {
					break
				}
				var err error
				if after, err = ParseCursor(page[len(page)-1].At.String()); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(Cursor{})); diff != "" {
				t.Errorf("in pages of %d (-want +got):\n%s", limit, diff)
			}
		}
	})
}

func TestParseCursor(t *testing.T) {
	for _, c := range []Cursor{{}, {seq: 1, records: 1}, {seq: 1<<64 - 1, records: 1<<31 - 1}} {
		text := c.String()
		if c == (Cursor{}) {
			text = ""
		}
		if got, err := ParseCursor(text); err != nil || got != c {
			t.Errorf("%q is read as %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"1", "-", "1-", "-1", "0-1", "1-2-3", "1-x", "x-1", " 1-1", "1--1", "18446744073709551616-1", "1-2147483648"} {
		if got, err := ParseCursor(text); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q is read as %v, %v", text, got, err)
		}
	}
}

// TestDamagedLogIsAnError: a record that does not decode ends the log with an
// error, never quietly.
func TestDamagedLogIsAnError(t *testing.T) {
	store := storetest.NewMemoryOf(stream.Chunk{Stream: local.Stream(), Seq: 1, At: start, Count: 1, Payload: []byte{kindVote, 9}})
	s := NewService(store, stream.SystemClock(), stream.Options{})
	t.Cleanup(func() { shut(t, s) })
	var last error
	for _, err := range s.Log(t.Context(), local, Cursor{}) {
		last = err
	}
	if !errors.Is(last, stream.ErrDamaged) || fault.KindOf(last) != fault.Storage {
		t.Errorf("error is %v, want one of kind Storage about damage", last)
	}
}
