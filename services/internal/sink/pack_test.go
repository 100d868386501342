package sink

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestPack(t *testing.T) {
	event := func(name string, data int) Event {
		return Event{Name: name, Target: "broadcast", Channel: "1", Data: []byte(`"` + strings.Repeat("x", data) + `"`)}
	}
	whisper := event("b", 1)
	whisper.Target = "whisper-U1"
	for name, test := range map[string]struct {
		events []Event
		n      int
		has    string
	}{
		"one alone":        {[]Event{event("a", 1)}, 1, `{"event":"e:a","data":"x"}`},
		"two together":     {[]Event{event("a", 1), event("b", 1)}, 2, `[{"event":"e:a","data":"x"},{"event":"e:b","data":"x"}]`},
		"another's target": {[]Event{event("a", 1), whisper}, 1, `{"event":"e:a","data":"x"}`},
		"not both":         {[]Event{event("a", 3000), event("b", 3000)}, 1, `{"event":"e:a"`},
		"too large":        {[]Event{event("a", 6000), event("b", 1)}, 2, `[{"event":"e:resync","data":{}},{"event":"e:b","data":"x"}]`},
		"just":             {[]Event{event("a", maxMessage-len(`{"event":"e:a","data":""}`))}, 1, `{"event":"e:a"`},
	} {
		message, n := pack("e:", test.events)
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
		var events []Event
		var want, got []string
		for i := range 1 + random.IntN(100) {
			want = append(want, fmt.Sprint(i))
			events = append(events, Event{Name: fmt.Sprint(i), Data: []byte(`"` + strings.Repeat("é", random.IntN(1200)) + `"`)})
		}
		for len(events) > 0 {
			message, n := pack("", events)
			events = events[n:]
			if len(message) > maxMessage || n == 0 {
				t.Fatalf("seed %d: %d bytes, %d events", seed, len(message), n)
			}
			if message[0] == '{' {
				message = slices.Concat([]byte("["), message, []byte("]"))
			}
			var all []envelope
			if err := json.Unmarshal(message, &all); err != nil {
				t.Fatal(err)
			}
			for _, e := range all {
				got = append(got, e.Event)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %q", seed, got)
		}
	}
}
