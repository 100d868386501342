package sink

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/state"
)

func TestWebhookReceivesEverything(t *testing.T) {
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
		p.publish("", "goal", "1")
		pass(time.Second)
		p.publish("U7", "psst", "2")
		pass(time.Second)
		to.want("goal 1", "psst 2")
		if to.tried[len(to.tried)-1].body != `{"event":"production:ext:psst","data":2,"target":"whisper-U7","channel":"1"}` {
			t.Errorf("whisper: %s", to.tried[len(to.tried)-1].body)
		}
		p.end("q", time.Now().Unix()+10)
		pass(9 * time.Second)
		to.want("poll_update:q")
		pass(3 * time.Second)
		to.want("poll_update:q", "vote_update:q 0")
		pass(time.Hour)
		to.want()
	})
}

// verifyDelivery verifies a request as the specification of Standard Webhooks 1.0 says: one
// of the signatures of version 1 is that of the id, the time and the body.
func verifyDelivery(secret string, header http.Header, body string) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(header.Get("webhook-id") + "." + header.Get("webhook-timestamp") + "." + body))
	for one := range strings.SplitSeq(header.Get("webhook-signature"), " ") {
		version, signature, _ := strings.Cut(one, ",")
		got, err := base64.StdEncoding.DecodeString(signature)
		if version == "v1" && err == nil && hmac.Equal(got, mac.Sum(nil)) {
			return nil
		}
	}
	return errors.New("no signature is that of the secret")
}

func TestWebhookIsSigned(t *testing.T) {
	in(t, func(t *testing.T) {
		to := &system{t: t}
		const first, second = "whsec_c2FtcGxlLXdlYmhvb2stc2VjcmV0LTAxMjM0NTY3ODk=", "c2Vjb25kLXNlY3JldC0wMTIzNDU2Nzg5"
		p := start(t, storetest.NewMemory(), strings.Replace(webhooks, "[{value: aG9vay1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]", "[{value: "+first+"}, {value: "+second+"}]", 1), to, true)
		p.vote("p", 1)
		synctest.Wait()
		body := to.took[0].body
		for _, secret := range []string{first, second} {
			if err := verifyDelivery(secret, to.headers, body); err != nil {
				t.Errorf("%v: %v", err, to.headers)
			}
		}
		if unix, err := strconv.ParseInt(to.headers.Get("webhook-timestamp"), 10, 64); err != nil || unix != time.Now().Unix() {
			t.Errorf("the time is %s", to.headers.Get("webhook-timestamp"))
		}
		for _, name := range []string{"webhook-id", "webhook-timestamp"} {
			forged := to.headers.Clone()
			forged.Set(name, "1")
			if verifyDelivery(first, forged, body) == nil {
				t.Errorf("%s can be changed", name)
			}
		}
		if verifyDelivery(first, to.headers, body+" ") == nil || verifyDelivery("whsec_b3RoZXIta2V5LW9mLW1vcmUtdGhhbi0zMi1ieXRlcy0wMTIzNDU2", to.headers, body) == nil {
			t.Error("the body can be changed, or another secret is accepted")
		}
	})
}

// The example that libraries for Standard Webhooks test.
func TestSignDelivery(t *testing.T) {
	secret, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := signDelivery(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Whatever the other system does, the last value of a poll is delivered, and no older
// one after it; a repeated event has the same id.
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
				if got := p.sinks.Stats(); got.Retries != 6 || got.Delivered != 2 || got.Dropped != 0 {
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

func TestDroppedEvents(t *testing.T) {
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
			p.publish("", "bad", "1")
			p.publish("", "good", "2")
			pass(12 * time.Hour)
			p.kill() // the time goes on where it was
			p = start(t, store, webhooks, to, true)
			pass(12*time.Hour + 30*time.Minute)
			to.want("good 2")
			if got := p.sinks.Stats(); got.Dropped != 1 && status != http.StatusGone {
				t.Errorf("%s: %+v", name, got)
			}
		})
	}
}

// The next process delivers what one that was killed has not, and repeats nothing
// that was delivered.
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
		p.publish("", "goal", "1")
		p.end("q", time.Now().Unix()+60)
		synctest.Wait()
		p.kill()
		up = true
		pass(2 * time.Minute)
		p = start(t, store, webhooks, to, true)
		pass(time.Second)
		got := to.received()
		slices.Sort(got)
		if want := []string{`channel_state_update {"a":1}`, "goal 1", "poll_update:q", "vote_update:p 1", "vote_update:q 0"}; !slices.Equal(got, want) {
			t.Errorf("received %q, want %q", got, want)
		}
		p.kill()
		start(t, store, webhooks, to, true)
		pass(time.Hour)
		to.want()
	})
}

// Messages that left the log while a sink was down: it receives a resync event, then
// the messages in memory. A truncation alone causes no event.
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
		p.publish("", "tick", "0")
		pass(time.Minute)
		to.want("tick 0")
		down = true
		for n := range 300 {
			p.publish("", "tick", fmt.Sprint(1+n))
		}
		feed := message.Feed{Environment: "production", Extension: "ext", Channel: "1"}
		if report, err := p.messages.Truncate(t.Context(), feed.Stream(), time.Now().Add(time.Minute)); err != nil || report.Chunks != 301 {
			t.Errorf("trimmed %+v, %v", report, err)
		}
		p.kill()
		down = false
		p = start(t, store, webhooks, to, true)
		pass(time.Hour)
		if got := to.received(); len(got) != 257 || got[0] != "resync {}" || got[1] != "tick 45" || got[256] != "tick 300" {
			t.Errorf("received %d events: %.300q", len(got), got)
		}
		p.publish("", "tick", "301")
		pass(time.Minute)
		to.want("tick 301")
		if _, err := p.messages.Truncate(t.Context(), feed.Stream(), time.Now().Add(time.Minute)); err != nil {
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
		p.publish("", "old", "1")
		p.write(state.Channel, `{"a":1}`)
		p.kill()
		p = start(t, store, webhooks, to, true)
		pass(time.Minute)
		to.want()
		p.vote("p", 2)
		p.publish("", "new", "2")
		got := to.received()
		slices.Sort(got)
		if want := []string{"new 2", "vote_update:p 2"}; !slices.Equal(got, want) {
			t.Errorf("received %q, want %q", got, want)
		}
	})
}

// A process serves once its sinks are initialized, so that the first events reach them.
func TestSinkIsInitializedBeforeTheProcessServes(t *testing.T) {
	in(t, func(t *testing.T) {
		to := &system{t: t}
		tuned := defaultTuning(false)
		tuned.transport = to
		p := boot(t, storetest.NewMemory(), webhooks, true, tuned)
		p.publish("", "goal", "1")
		pass(time.Second)
		to.want("goal 1")
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
		got := to.received()
		for _, event := range got {
			var count int
			if _, err := sscan(event, &count); err != nil || count <= want {
				t.Errorf("received %q", got)
			}
			want = count
		}
		if want != 100 {
			t.Errorf("received %q", got)
		}
		first.vote("p", 100)
		first.kill()
		pass(time.Minute)
		to.want("vote_update:p 101")
	})
}
