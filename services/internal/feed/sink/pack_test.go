package sink

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
)

func TestPack(t *testing.T) {
	audience := event.Audience{Environment: "e", Extension: "x", Channel: "1"}
	sized := func(name string, data int) *event.Event {
		return &event.Event{Name: name, Audience: audience, Data: []byte(`"` + strings.Repeat("x", data) + `"`)}
	}
	whisper := sized("b", 1)
	whisper.To = "U1"
	for name, test := range map[string]struct {
		events []*event.Event
		n      int
		has    string
	}{
		"one alone":        {[]*event.Event{sized("a", 1)}, 1, `{"event":"e:x:a","data":"x"}`},
		"two together":     {[]*event.Event{sized("a", 1), sized("b", 1)}, 2, `[{"event":"e:x:a","data":"x"},{"event":"e:x:b","data":"x"}]`},
		"another's target": {[]*event.Event{sized("a", 1), whisper}, 1, `{"event":"e:x:a","data":"x"}`},
		"not both":         {[]*event.Event{sized("a", 3000), sized("b", 3000)}, 1, `{"event":"e:x:a"`},
		"too large":        {[]*event.Event{sized("a", 6000), sized("b", 1)}, 2, `[{"event":"e:x:resync","data":{}},{"event":"e:x:b","data":"x"}]`},
		"just":             {[]*event.Event{sized("a", maxMessage-len(`{"event":"e:x:a","data":""}`))}, 1, `{"event":"e:x:a"`},
	} {
		message, n := packEnvelopes(test.events)
		if n != test.n || !strings.HasPrefix(string(message), test.has) {
			t.Errorf("%s: %d events, %.80s", name, n, message)
		}
	}
}

// However large they are, messages hold all the events in their order and none is
// larger than allowed.
func TestPackKeepsEverything(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		var events []*event.Event
		var want, got []string
		for i := range 1 + random.IntN(100) {
			want = append(want, fmt.Sprint(i))
			events = append(events, &event.Event{Name: fmt.Sprint(i), Data: []byte(`"` + strings.Repeat("é", random.IntN(1200)) + `"`)})
		}
		for len(events) > 0 {
			message, n := packEnvelopes(events)
			events = events[n:]
			if len(message) > maxMessage || n == 0 {
				t.Fatalf("seed %d: %d bytes, %d events", seed, len(message), n)
			}
			if message[0] == '{' {
				message = slices.Concat([]byte("["), message, []byte("]"))
			}
			var all []struct{ Event string }
			if err := json.Unmarshal(message, &all); err != nil {
				t.Fatal(err)
			}
			for _, e := range all {
				got = append(got, strings.TrimPrefix(e.Event, "::"))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %q", seed, got)
		}
	}
}
