package sink

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// However many messages wait, and whichever process is killed meanwhile, the other
// system receives each of them in order, and once unless a process was killed during
// the request.
func TestEveryMessageIsDelivered(t *testing.T) {
	const many = 700 // more than a feed has in memory
	for name, registry := range map[string]string{"webhook": webhooks, "pubsub": platform} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				room, store := 0, storetest.NewMemory()
				var times []time.Time
				to := &system{t: t, answer: func(_ int, body string) int {
					if room <= 0 {
						return http.StatusServiceUnavailable
					}
					room -= len(events(t, body))
					times = append(times, time.Now())
					return http.StatusOK
				}}
				p := start(t, store, registry, to, true)
				var want, got []string
				for n := range many {
					p.publish("", "tick", fmt.Sprint(n))
					want = append(want, fmt.Sprint("tick ", n))
				}
				for _, room = range []int{0, 10, 70, many} {
					p.kill()
					times = nil
					p = start(t, store, registry, to, true)
					pass(time.Hour)
					got = append(got, to.received()...)
				}
				if got = slices.Compact(got); !slices.Equal(got, want) {
					t.Errorf("received %d messages, %.300q", len(got), got)
				}
				if took := times[len(times)-1].Sub(times[0]); took > 20*time.Second {
					t.Errorf("the rest was delivered in %v", took)
				}
				p.publish("", "tick", "700")
				pass(5 * time.Second)
				to.want("tick 700")
			})
		})
	}
}

// Positions that older versions stored lack the number of the message after a chunk.
func TestPositionWithoutItsPlaceInTheLog(t *testing.T) {
	in(t, func(t *testing.T) {
		store, to := storetest.NewMemory(), &system{t: t}
		p := start(t, store, webhooks, to, true)
		for n := range 3 {
			p.publish("", "tick", fmt.Sprint(n))
		}
		pass(10 * time.Second)
		p.kill()
		to.want("tick 0", "tick 1", "tick 2")
		forget(t, store, "before")
		p = start(t, store, "extensions: []", to, true)
		for n := range 400 {
			p.publish("", "tick", fmt.Sprint(3+n))
		}
		p.kill()
		start(t, store, webhooks, to, true)
		pass(time.Hour)
		if got := to.received(); len(got) != 400 || got[0] != "tick 3" {
			t.Errorf("received %d messages, %.100q", len(got), got)
		}
	})
}

// forget removes a field from all positions.
func forget(t *testing.T, store *storetest.Memory, field string) {
	t.Helper()
	forgotten := 0
	for key, err := range store.Keys(t.Context(), "sink/") {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(key, "/at/") {
			continue
		}
		found, err := store.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]any{}
		if err := json.Unmarshal(found[0].Body, &at); err != nil {
			t.Fatal(err)
		}
		if at[field] != nil {
			forgotten++
		}
		delete(at, field)
		body, err := json.Marshal(at)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Put(t.Context(), document.Write{Key: key, Expect: found[0].Version, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	if forgotten == 0 {
		t.Fatal("no position has " + field)
	}
}
