package sink_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/sink"
	"github.com/acclaim-dev/acclaim/services/internal/sinktest"
	"github.com/acclaim-dev/acclaim/services/internal/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/state"
)

func TestPubSubRequest(t *testing.T) {
	in(t, func(t *testing.T) {
		to := &system{t: t}
		p := start(t, storetest.NewMemory(), platform, to, true)
		pass(2 * time.Second)
		for _, test := range []struct {
			do              func()
			target, channel string
			global          bool
		}{
			{func() { p.vote("p", 1) }, "broadcast", "1", false},
			{func() { p.say("U7", "psst", "1") }, "whisper-U7", "1", false},
			{func() { p.write(state.Extension, `{"a":1}`) }, "global", "all", true},
		} {
			test.do()
			pass(5 * time.Second)
			token, _ := strings.CutPrefix(to.headers.Get("Authorization"), "Bearer ")
			claims := jwt.MapClaims{}
			_, err := jwt.NewParser(jwt.WithTimeFunc(time.Now)).ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return []byte("one"), nil })
			if err != nil {
				t.Fatal(err)
			}
			delete(claims, "exp")
			if diff := cmp.Diff(jwt.MapClaims{
				"user_id": "1000", "role": "external", "channel_id": test.channel,
				"pubsub_perms": map[string]any{"send": []any{test.target}},
			}, claims); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			var body struct {
				Target      []string
				Broadcaster string `json:"broadcaster_id"`
				Global      bool   `json:"is_global_broadcast"`
			}
			if err := json.Unmarshal([]byte(to.tried[len(to.tried)-1].body), &body); err != nil {
				t.Fatal(err)
			}
			if body.Target[0] != test.target || body.Global != test.global || (body.Broadcaster == "") != test.global {
				t.Errorf("%s: %+v", test.target, body)
			}
			if id := to.headers.Get("Client-Id"); id != "ext" {
				t.Errorf("client id %q", id)
			}
		}
	})
}

// The platform's bucket is never overdrawn, whatever happens, and in the end it has
// heard what every poll came to and every whisper. The server looks after the bucket.
func TestBudget(t *testing.T) {
	for seed := range uint64(6) {
		in(t, func(t *testing.T) {
			random, moods := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			options, calm := ofServer(nil), false
			options.Pipes = sinktest.NewPipes()
			options.Mood = func(sinktest.Request) sinktest.Mood {
				mu.Lock()
				defer mu.Unlock()
				if calm || moods.IntN(3) > 0 {
					return sinktest.Well
				}
				return anyMood[moods.IntN(len(anyMood))]
			}
			to, store := sinktest.Start(t, options), storetest.NewMemory()
			transport := options.Pipes.Transport()
			t.Cleanup(transport.CloseIdleConnections)
			life := func(n int) *process {
				registry := strings.Replace(platform, "pubsub: {}", fmt.Sprintf("pubsub: {url: %q}", to.PubSub(fmt.Sprint(n))), 1)
				return boot(t, store, registry, stream.SystemClock(), sink.Options{Alone: true, Transport: transport})
			}
			p, last := life(0), map[string]int{}
			synctest.Wait()
			for n := range 400 {
				id := fmt.Sprint("p", random.IntN(60))
				p.vote(id, n)
				last["vote_update:"+id]++
				p.say(fmt.Sprint("U", n), "psst", fmt.Sprint(n)) // a message of its own each
				if random.IntN(4) == 0 {
					pass(time.Duration(random.IntN(2000)) * time.Millisecond)
				}
				if random.IntN(100) == 0 {
					p.kill()
					p = life(n + 1)
				}
			}
			mu.Lock()
			calm = true
			mu.Unlock()
			pass(time.Hour)
			p.say("U", "psst", "400")
			pass(time.Minute)
			taken := to.Taken("/pubsub")
			for name, data := range sinktest.Last(taken) {
				if name != "psst" && !strings.Contains(data, fmt.Sprintf(`"count":%d,`, last[name])) {
					t.Errorf("seed %d: %s has %d votes, the platform knows %s", seed, name, last[name], data)
				}
				delete(last, name)
			}
			if whispers := inTurn(taken, "psst"); whispers != 401 || len(last) > 0 {
				t.Errorf("seed %d: whisper %d is not heard in its turn, of %v nothing", seed, whispers, last)
			}
		})
	}
}

// A poll's updates are merged while the budget is used up, and what does not fit is
// replaced.
func TestMergesAndReplaces(t *testing.T) {
	in(t, func(t *testing.T) {
		to := &system{t: t}
		p := start(t, storetest.NewMemory(), platform, to, true)
		for voter := range 50 {
			p.vote("p", voter)
			p.vote("q", voter)
		}
		synctest.Wait()
		pass(time.Second)
		if n := len(to.tried); n != 1 {
			t.Errorf("%d messages, want 1", n)
		}
		to.want("vote_update:p 50", "vote_update:q 50")
		p.write(state.Channel, `{"a":"`+strings.Repeat("x", 6000)+`"}`)
		pass(5 * time.Second)
		to.want("resync {}")
	})
}
