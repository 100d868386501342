package sink

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// What staff makes goes before thousands of polls that viewers made up, whose deliveries
// take long, and those that wait take no goroutine.
func TestDeclaredGoesFirst(t *testing.T) {
	for name, registry := range map[string]string{"webhook": webhooks, "pub/sub": platform} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				to := &system{t: t, takes: 500 * time.Millisecond}
				p := start(t, storetest.NewMemory(), registry, to, true)
				p.end("configured", 1<<40)
				pass(time.Minute)
				to.received()
				before := runtime.NumGoroutine()
				for i := range 2_000 {
					p.vote(fmt.Sprint("p", i), 1)
				}
				pass(2 * time.Second)
				if got := runtime.NumGoroutine() - before; got > 50 {
					t.Errorf("%d goroutines more for 2000 polls", got)
				}
				p.publish("", "important", "1")
				p.vote("configured", 1)
				p.end("new", 1<<40) // not known to the sink
				p.vote("new", 1)
				pass(4 * time.Second)
				got := to.received()
				for _, want := range []string{"important 1", "vote_update:configured 1", "vote_update:new 1"} {
					if !slices.Contains(got, want) {
						t.Errorf("no %s within 4 s", want)
					}
				}
				if len(got) > 1_000 {
					t.Errorf("%d events in 6 s: nothing had to wait", len(got))
				}
				pass(time.Hour)
				if n := len(got) + len(to.received()); n != 2_004 {
					t.Errorf("%d events in the end, want 2004", n)
				}
			})
		})
	}
}

// Whatever is pushed and popped, an entry queue holds each source once, and gives the
// first class first, each class in the order of arrival.
func TestEntryQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		q := newEntryQueue()
		var model [classes][]queueEntry
		for range 300 {
			if random.IntN(3) > 0 {
				e := queueEntry{event.Source{Name: fmt.Sprint(random.IntN(20))}, random.Uint64N(4)}
				class := sourceClass(random.IntN(int(classes)))
				q.push(e, class)
				pushModel(&model, e, class)
				continue
			}
			e, ok := q.pop()
			class := declared
			if len(model[declared]) == 0 {
				class = madeUp
			}
			if len(model[class]) == 0 {
				if ok || !q.isEmpty() {
					t.Fatal("an entry of an empty queue")
				}
				continue
			}
			if want := model[class][0]; !ok || e != want {
				t.Fatalf("got %v, %v, want %v", e, ok, want)
			}
			model[class] = model[class][1:]
		}
	}
}

func pushModel(model *[classes][]queueEntry, e queueEntry, class sourceClass) {
	for _, entries := range model {
		for i := range entries {
			if entries[i].source.Name != e.source.Name {
				continue
			}
			if entries[i].hinted == readAgain || e.hinted == readAgain {
				entries[i].hinted = readAgain
			} else {
				entries[i].hinted = max(entries[i].hinted, e.hinted)
			}
			return
		}
	}
	model[class] = append(model[class], e)
}

// Runs that begin also end: when all is delivered nothing runs, whatever failed meanwhile.
func TestPoolComesToRest(t *testing.T) {
	in(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(3, 4))
		to := &system{t: t, answer: func(n int, _ string) int {
			return []int{204, 204, 500, 410, 0, 302}[rand.New(rand.NewPCG(uint64(n), 4)).IntN(6)]
		}}
		p := start(t, storetest.NewMemory(), webhooks, to, false)
		for i := range 300 {
			p.vote(fmt.Sprint("p", i%40), i)
			if i%7 == 0 {
				p.publish("", "said", fmt.Sprint(i))
			}
			pass(time.Duration(random.IntN(400)) * time.Millisecond)
		}
		pass(2 * time.Hour)
		synctest.Wait()
		for _, w := range p.sinks.workers {
			w.mu.Lock()
			if w.pool.running != [classes]int{} || len(w.pool.ready[declared])+len(w.pool.ready[madeUp]) > 0 || len(w.queues) > 0 {
				t.Errorf("running %v, ready %v, %d queues", w.pool.running, w.pool.ready, len(w.queues))
			}
			w.mu.Unlock()
		}
		if to.most > 8 {
			t.Errorf("%d requests at a time", to.most)
		}
	})
}

// A viewer that whispers to itself, faster than the platform takes, holds up neither what
// the broadcaster says nor, when it ends, its own next whisper for long.
func TestWhispersDoNotHoldUpBroadcasts(t *testing.T) {
	in(t, func(t *testing.T) {
		to := &system{t: t}
		p := start(t, storetest.NewMemory(), platform, to, true)
		pass(time.Minute)
		for i := range 2_000 {
			p.publish(fmt.Sprint("U", i), "psst", fmt.Sprint(i))
			if i%10 == 0 {
				pass(time.Second)
			}
		}
		to.received()
		p.publish("", "important", "1")
		pass(3 * time.Second)
		if got := to.received(); !slices.Contains(got, "important 1") {
			t.Errorf("received %q", got)
		}
		pass(30 * time.Minute) // 256 that are kept, at 0.2 a second
		p.publish("U7", "psst", `"last"`)
		pass(20 * time.Second)
		if got := to.received(); len(got) == 0 || got[len(got)-1] != `psst "last"` {
			t.Errorf("the last whisper is not delivered: %q", got[max(0, len(got)-2):])
		}
		for _, e := range to.tried {
			if strings.Contains(e.body, "resync") {
				t.Fatal("a resync for all viewers stands for whispers")
			}
		}
	})
}
