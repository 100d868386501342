package publish

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Of two logs with one mark, the one that was marked before signs no more, and goes on as it was once
// the mark is removed. They do not begin again in turn.
func TestTwoLogsOfOneMark(t *testing.T) {
	other := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	for name, test := range map[string]struct {
		sameStore bool
		key       ed25519.PrivateKey
		origin    string
	}{
		"two stores":           {},
		"and two keys":         {key: other},
		"and two names":        {origin: "votes.example/other"},
		"a new key of a store": {sameStore: true, key: other}, // while processes with the former one run
		"a new name":           {sameStore: true, origin: "votes.example/other"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			second := &world{t: t, store: storetest.NewMemory(), clock: w.clock, mark: w.mark}
			if test.sameStore {
				second.store = w.store
			}
			second.keyed[0] = test.key
			second.start()
			if test.origin != "" {
				second.Origin = test.origin
			}
			w.configure("p", voting.Config{})
			w.round()
			old := w.keys().Origin()
			second.configure("p", voting.Config{})
			origins, size := map[string]bool{}, int64(0)
			sign := func(w *world) (*signedLog, error) {
				w.vote("p", fmt.Sprint("v", len(origins), size), 1)
				size++
				w.queue.add(pollNamed("p"))
				_ = w.reportOnce(t.Context()) // the displaced one may fail
				w.clock.pass(2 * time.Second)
				return w.signLog(t.Context(), 0)
			}
			for range 4 {
				s, err := sign(second)
				w.must(err)
				origins[s.origin] = true
				if _, err := sign(w); !errors.Is(err, errMarkTaken) || w.Stats().Taken != 1 {
					t.Errorf("the displaced one signs: %v, %+v", err, w.Stats())
				}
			}
			if len(origins) != 1 || origins[old] || second.Stats().Taken != 0 {
				t.Errorf("beside %s there are the logs %v", old, origins)
			}
			if test.sameStore {
				return
			}
			w.mark.text = nil
			if s, err := sign(w); err != nil || s.origin != old || w.Stats().Taken != 0 {
				t.Errorf("without the mark, %s does not go on: %v", old, err)
			}
		})
	}
}
