package sink_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/sink"
	"github.com/acclaim-dev/acclaim/services/internal/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/state"
)

func TestWebhookHearsOfEverything(t *testing.T) {
	in(t, func(t *testing.T) {
		to := &system{t: t}
		p := start(t, storetest.NewMemory(), webhooks, to, true)
		p.vote("p", 1)
		to.want("vote_update:p 1")
		p.vote("p", 2)
		p.vote("p", 3)
		to.want()
		pass(time.Second)
		to.want("vote_update:p 3")
		p.reset("p")
		pass(time.Second)
		to.want("vote_delete:p", "vote_update:p 0")
		p.write(state.Channel, `{"a":1}`)
		to.want(`channel_state_update {"a":1}`)
		p.write(state.Extension, `{"b":2}`)
		to.want(`extension_state_update {"b":2}`)
		p.say("", "goal", "1")
		p.say("U7", "psst", "2")
		pass(time.Second)
		to.want("goal 1", "psst 2")
		if to.tried[len(to.tried)-1].body != `{"event":"production:ext:psst","data":2,"target":"whisper-U7","channel":"1"}` {
			t.Errorf("whisper: %s", to.tried[len(to.tried)-1].body)
		}
		p.end("q", time.Now().Unix()+10)
		pass(9 * time.Second)
		to.want()
		pass(3 * time.Second)
		to.want("vote_update:q 0")
		pass(time.Hour)
		to.want()
	})
}

func TestWebhookIsSigned(t *testing.T) {
	in(t, func(t *testing.T) {
		to := &system{t: t}
		p := start(t, storetest.NewMemory(), webhooks, to, true)
		p.vote("p", 1)
		synctest.Wait()
		unix, signature, ok := strings.Cut(strings.TrimPrefix(to.headers.Get(sink.SignatureHeader), "t="), ",v1=")
		mac := hmac.New(sha256.New, []byte("hook"))
		mac.Write([]byte(unix + "." + to.took[0].body))
		if want := hex.EncodeToString(mac.Sum(nil)); !ok || signature != want {
			t.Errorf("signature %q, want %q", to.headers.Get(sink.SignatureHeader), want)
		}
	})
}

// Whatever the other system does, what a poll came to is delivered, and nothing
// older after it; what is sent again has the same id.
func TestWebhookIsTriedAgain(t *testing.T) {
	for name, status := range map[string]int{
		"5xx": http.StatusBadGateway, "reset": 0, "hangs": -1, "4xx": http.StatusNotFound,
		"limits": http.StatusTooManyRequests, "redirects": http.StatusFound,
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				to := &system{t: t, answer: func(n int, _ string) int {
					if n%4 != 0 {
						return status
					}
					return http.StatusOK
				}}
				p := start(t, storetest.NewMemory(), webhooks, to, true)
				p.vote("p", 99)
				pass(time.Minute)
				to.want("vote_update:p 1")
				for voter := range 10 {
					p.vote("p", voter)
				}
				pass(10 * time.Minute)
				to.want("vote_update:p 11")
				if to.tried[0].id != to.tried[3].id || to.tried[0].id == "" || to.tried[0].id == to.tried[7].id {
					t.Errorf("ids: %+v", to.tried)
				}
				if got := p.sinks.Stats(); got.Retries != 6 || got.Delivered != 2 || got.Dead != 0 {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

func TestPausesGrow(t *testing.T) {
	in(t, func(t *testing.T) {
		to := &system{t: t, answer: func(int, string) int { return http.StatusInternalServerError }}
		p := start(t, storetest.NewMemory(), webhooks, to, true)
		p.vote("p", 1)
		pass(time.Hour)
		if n := len(to.tried); n < 10 || n > 30 {
			t.Errorf("%d tries in an hour", n)
		}
		p.vote("other", 1)
		pass(time.Second)
		if !strings.Contains(to.tried[len(to.tried)-1].body, "other") {
			t.Error("one poll waits for another")
		}
	})
}

func TestDeadEventsMakeWay(t *testing.T) {
	for name, status := range map[string]int{"in the end": http.StatusInternalServerError, "gone": http.StatusGone} {
		in(t, func(t *testing.T) {
			to := &system{t: t, answer: func(_ int, body string) int {
				if strings.Contains(body, "bad") {
					return status
				}
				return http.StatusOK
			}}
			store := storetest.NewMemory()
			p := start(t, store, webhooks, to, true)
			p.say("", "bad", "1")
			p.say("", "good", "2")
			pass(12 * time.Hour)
			p.kill() // which does not begin the time anew
			p = start(t, store, webhooks, to, true)
			pass(12*time.Hour + 30*time.Minute)
			to.want("good 2")
			if got := p.sinks.Stats(); got.Dead != 1 && status != http.StatusGone {
				t.Errorf("%s: %+v", name, got)
			}
		})
	}
}

// What a process that was killed has not delivered, the next one does; and it says
// nothing again that was delivered.
func TestRestart(t *testing.T) {
	in(t, func(t *testing.T) {
		store, up := storetest.NewMemory(), false
		to := &system{t: t, answer: func(int, string) int {
			if up {
				return http.StatusOK
			}
			return -1
		}}
		p := start(t, store, webhooks, to, true)
		p.vote("p", 1)
		p.write(state.Channel, `{"a":1}`)
		p.say("", "goal", "1")
		p.end("q", time.Now().Unix()+60)
		synctest.Wait()
		p.kill()
		up = true
		pass(2 * time.Minute)
		p = start(t, store, webhooks, to, true)
		pass(time.Second)
		got := to.heard()
		slices.Sort(got)
		if want := []string{`channel_state_update {"a":1}`, "goal 1", "vote_update:p 1", "vote_update:q 0"}; !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
		p.kill()
		start(t, store, webhooks, to, true)
		pass(time.Hour)
		to.want()
	})
}

// Messages that have left the log while a sink was away: it is told that it missed
// some, then those that are at hand. A trim alone is told of to nobody.
func TestMessagesWereTrimmed(t *testing.T) {
	in(t, func(t *testing.T) {
		store, down := storetest.NewMemory(), false
		to := &system{t: t, answer: func(int, string) int {
			if down {
				return -1
			}
			return http.StatusOK
		}}
		p := start(t, store, webhooks, to, true)
		p.say("", "tick", "0")
		pass(time.Minute)
		to.want("tick 0")
		down = true
		for n := range 300 {
			p.say("", "tick", fmt.Sprint(1+n))
		}
		feed := message.Feed{Environment: "production", Extension: "ext", Channel: "1"}
		if report, err := p.messages.Trim(t.Context(), feed.Stream(), time.Now().Add(time.Minute)); err != nil || report.Chunks != 301 {
			t.Errorf("trimmed %+v, %v", report, err)
		}
		p.kill()
		down = false
		p = start(t, store, webhooks, to, true)
		pass(time.Hour)
		if got := to.heard(); len(got) != 257 || got[0] != "resync {}" || got[1] != "tick 45" || got[256] != "tick 300" {
			t.Errorf("heard %d events: %.300q", len(got), got)
		}
		p.say("", "tick", "301")
		pass(time.Minute)
		to.want("tick 301")
		if _, err := p.messages.Trim(t.Context(), feed.Stream(), time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
		pass(time.Hour)
		p.kill()
		start(t, store, webhooks, to, true)
		pass(time.Hour)
		to.want()
	})
}

func TestNewSinkBeginsWithWhatChanges(t *testing.T) {
	in(t, func(t *testing.T) {
		to, store := &system{t: t}, storetest.NewMemory()
		p := start(t, store, "extensions: []", to, true)
		p.vote("p", 1)
		p.vote("still", 1)
		p.say("", "old", "1")
		p.write(state.Channel, `{"a":1}`)
		p.kill()
		p = start(t, store, webhooks, to, true)
		pass(time.Minute)
		to.want()
		p.vote("p", 2)
		p.say("", "new", "2")
		got := to.heard()
		slices.Sort(got)
		if want := []string{"new 2", "vote_update:p 2"}; !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
	})
}

// Of two processes one delivers, whichever writes; when it is killed, the other one
// goes on.
func TestTwoProcesses(t *testing.T) {
	in(t, func(t *testing.T) {
		to, store := &system{t: t}, storetest.NewMemory()
		first := start(t, store, webhooks, to, false)
		second := start(t, store, webhooks, to, false)
		pass(5 * time.Second)
		want := 0
		for voter := range 100 {
			[]*process{first, second}[voter%2].vote("p", voter)
			pass(300 * time.Millisecond)
		}
		pass(5 * time.Second)
		heard := to.heard()
		for _, event := range heard {
			var count int
			if _, err := sscan(event, &count); err != nil || count <= want {
				t.Errorf("heard %q", heard)
			}
			want = count
		}
		if want != 100 {
			t.Errorf("heard %q", heard)
		}
		first.vote("p", 100)
		first.kill()
		pass(time.Minute)
		to.want("vote_update:p 101")
	})
}
