package sink

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/testing/sinktest"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
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
			{func() { p.publish("U7", "psst", "1") }, "whisper-U7", "1", false},
			{func() { p.write(state.Extension, `{"a":1}`) }, "global", "all", true},
			{func() { p.voteIn("", "q", 1) }, "global", "all", true}, // a token may lack the channel
		} {
			test.do()
			pass(5 * time.Second)
			token, _ := strings.CutPrefix(to.headers.Get("Authorization"), "Bearer ")
			claims := jwt.MapClaims{}
			_, err := jwt.NewParser(jwt.WithTimeFunc(time.Now)).ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return []byte("one-key-of-more-than-32-bytes-0123456"), nil })
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

// The platform's rate limit is kept, whatever happens, and in the end the platform has
// the last value of every poll and the last whispers. The server checks the limit.
func TestRateLimit(t *testing.T) {
	for seed := range uint64(6) {
		in(t, func(t *testing.T) {
			random, moods := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			options, calm := ofServer(nil), false
			pipes := sinktest.NewPipes()
			options.Listener = pipes
			options.Mood = func(sinktest.Request) sinktest.ServerMood {
				mu.Lock()
				defer mu.Unlock()
				if calm || moods.IntN(3) > 0 {
					return sinktest.Well
				}
				return anyMood[moods.IntN(len(anyMood))]
			}
			to, store := sinktest.Start(t, options), storetest.NewMemory()
			transport := pipes.Transport()
			t.Cleanup(transport.CloseIdleConnections)
			life := func(n int) *process {
				registry := strings.Replace(platform, "pubsub: {}", fmt.Sprintf("pubsub: {url: %q}", to.PubSubURL(fmt.Sprint(n))), 1)
				tuned := defaultTuning(false)
				tuned.transport = transport
				return boot(t, store, registry, true, tuned)
			}
			p, last := life(0), map[string]int{}
			synctest.Wait()
			for n := range 400 {
				id := fmt.Sprint("p", random.IntN(60))
				p.vote(id, n)
				last["vote_update:"+id]++
				p.publish(fmt.Sprint("U", n), "psst", fmt.Sprint(n)) // a message of its own each
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
			p.publish("U", "psst", "400")
			pass(time.Minute)
			taken := to.TakenEvents("/pubsub")
			for name, data := range sinktest.Last(taken) {
				if name != "psst" && !strings.Contains(data, fmt.Sprintf(`"count":%d,`, last[name])) {
					t.Errorf("seed %d: %s has %d votes, the platform knows %s", seed, name, last[name], data)
				}
				delete(last, name)
			}
			// Of more whispers than the platform takes, the oldest are dropped.
			whispers, before := map[int]bool{}, -1
			for _, e := range taken {
				if e.Name != "psst" {
					continue
				}
				number, err := strconv.Atoi(string(e.Data))
				if err != nil || number < before {
					t.Errorf("seed %d: whisper %s after %d", seed, e.Data, before)
				}
				whispers[number], before = true, number
			}
			if before != 400 || len(whispers) < 256 || len(last) > 0 {
				t.Errorf("seed %d: %d whispers up to %d, of %v nothing", seed, len(whispers), before, last)
			}
		})
	}
}

// A poll's updates are merged while the rate limit is used up, and an event that does
// not fit is replaced.
func TestMergesAndReplaces(t *testing.T) {
	in(t, func(t *testing.T) {
		to := &system{t: t}
		p := start(t, storetest.NewMemory(), platform, to, true)
		for voter := range 50 {
			p.vote("p", voter)
			p.vote("q", voter)
		}
		synctest.Wait()
		pass(2 * time.Second)
		if n := len(to.tried); n != 1 {
			t.Errorf("%d messages, want 1", n)
		}
		to.want("vote_update:p 50", "vote_update:q 50")
		p.write(state.Channel, `{"a":"`+strings.Repeat("x", 6000)+`"}`)
		pass(5 * time.Second)
		to.want("resync {}")
	})
}
