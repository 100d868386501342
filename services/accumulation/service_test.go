package accumulation_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
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
