package httpapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// keyedWrites are the routes that take keys: two different bodies, and a read whose answer
// each of the writes would change again.
func keyedWrites() []struct{ write, one, other, read string } {
	return []struct{ write, one, other, read string }{
		{"POST /vote?id=p", `{"value":3}`, `{"value":4}`, "/vote_logs?id=p"},
		{"POST /votes?id=p", `{"votes":[{"user_id":"8","value":3}]}`, `{"votes":[{"user_id":"8","value":4}]}`, "/vote_logs?id=p"},
		{"POST /vote_modifier?id=p", `{"user":"U1000","add":1}`, `{"user":"U1000","add":2}`, "/vote?id=p"},
		{"POST /accumulate?id=b", `{"a":1}`, `{"a":2}`, "/accumulate?id=b"},
		{"POST /rank?id=q", `{"key":"a"}`, `{"key":"b"}`, "/rank?id=q"},
		{"PATCH /channel_state", `[{"op":"add","path":"/n","value":[]}]`, `[{"op":"add","path":"/n/-","value":1}]`, "/channel_state"},
		{"PATCH /extension_state", `{"a":1}`, `{"a":2}`, "/extension_state"},
		{"PATCH /viewer_state", `{"a":1}`, `{"a":2}`, "/viewer_state"},
		{"PATCH /extension_viewer_state", `{"a":1}`, `{"a":2}`, "/extension_viewer_state"},
		{"PATCH /extension_viewer_state", `{"5":{"a":1},"6":{"a":1}}`, `{"5":{"a":2}}`, "/extension_viewer_state?user_ids=5,6"},
		{"PATCH /config/channel", `{"a":1}`, `{"a":2}`, "/config/channel"},
		{"PATCH /config/extension", `{"a":1}`, `{"a":2}`, "/config/extension"},
		{"POST /broadcast", `{"event":"a","data":1}`, `{"event":"a","data":2}`, ""},
		{"POST /extension_broadcast", `{"event":"a","data":1}`, `{"event":"a","data":2}`, ""},
		{"POST /whisper_self", `{"event":"a","data":1}`, `{"event":"a","data":2}`, ""},
		{"POST /coins/purchase", `{"sku":"life","price":10}`, `{"sku":"spoon","price":5}`, "/coins"},
	}
}

// openShop has the owner's channel sell two products, and the owner have coins.
func openShop(t *testing.T, a *api, coins int) {
	t.Helper()
	a.as(owner(), "POST", "/config/channel", `{"skus":{"life":{"price":10},"spoon":{"price":5}}}`).is(200)
	a.as(owner(), "POST", "/bits/transactions", `{"transactionReceipt":"`+receipt(t, "ext", "t1", owner().user, coins)+`"}`).is(201)
}

// Section 1.4: a request that is repeated with its key has its effect once, and the key
// refuses another request.
func TestKeyedWrites(t *testing.T) {
	for _, w := range keyedWrites() {
		t.Run(w.write, func(t *testing.T) {
			a := newAPI(t)
			method, path, _ := strings.Cut(w.write, " ")
			send := func(body, key string, want int, replayed string) {
				t.Helper()
				if got := a.as(owner(), method, path, body, "Idempotency-Key", key).is(want); got.header.Get("Idempotency-Replayed") != replayed {
					t.Errorf("%s with key %s: Idempotency-Replayed is %q, want %q", body, key, got.header.Get("Idempotency-Replayed"), replayed)
				}
			}
			read := func() string {
				if w.read == "" {
					return ""
				}
				return a.as(owner(), "GET", w.read, "").is(200).body
			}
			a.as(owner(), "POST", "/vote?id=p", `{}`).is(200)
			if path == "/coins/purchase" {
				openShop(t, a, 100)
			}
			send(w.one, "k1", 200, "")
			after := read()
			send(w.one, "k1", 200, "true")
			if got := read(); got != after {
				t.Errorf("a repetition made %s of %s", got, after)
			}
			a.as(owner(), method, path, w.other, "Idempotency-Key", "k1").refused(422, "The Idempotency-Key was used for another request")
			send(w.other, "k2", 200, "")
			changed := read()
			if changed == after && w.read != "" {
				t.Errorf("another key changed nothing: %s", changed)
			}
			send(w.one, "k1", 200, "true")
			send(w.other, "k2", 200, "true")
			if got := read(); got != changed {
				t.Errorf("repetitions made %s of %s", got, changed)
			}
			for _, key := range []string{"", strings.Repeat("x", 129), "a\x7f", "é"} {
				a.as(owner(), method, path, w.one, "Idempotency-Key", key).refused(400, "Idempotency-Key must have 1 to 128 printable bytes")
			}
			send(w.one, strings.Repeat("~ ", 64), 200, "")
		})
	}
}

// unsteadyMessages fails to announce purchases as long as fail is set, before or after it.
type unsteadyMessages struct {
	operation.Messages
	fail, before bool
	stored       func() int
}

func (m *unsteadyMessages) Announce(ctx context.Context, f message.Feed, announced message.Message, keys ...*once.Key) error {
	if m.fail && m.before {
		return fault.New(fault.Storage, "Storage failed")
	}
	err := m.Messages.Announce(ctx, f, announced, keys...)
	if m.fail && err == nil {
		return fault.New(fault.Uncertain, "Storage failed; the outcome is unknown")
	}
	return err
}

// A purchase whose announcement failed, before or after it was stored, is announced once
// when it is repeated, and takes coins once. Its price may have changed by then.
func TestRepeatedPurchaseIsAnnounced(t *testing.T) {
	for _, before := range []bool{true, false} {
		feed := message.Feed{Environment: "production", Extension: "ext", Channel: "77", Games: true}
		m := &unsteadyMessages{before: before}
		a := newAPI(t, func(c *apiSettings) {
			feeds := c.Messages.(*message.Service)
			m.stored = func() int {
				page, err := feeds.Since(t.Context(), feed, 0)
				if err != nil {
					t.Fatal(err)
				}
				return len(page.Messages)
			}
			m.Messages, c.Messages = feeds, m
		})
		openShop(t, a, 100)
		announced := m.stored() + 1
		const body = `{"sku":"life","price":10}`
		m.fail = true
		a.as(owner(), "POST", "/coins/purchase", body, "Idempotency-Key", "k").is(500)
		m.fail = false
		a.as(owner(), "POST", "/config/channel", `{}`).is(200)
		for range 2 {
			got := a.as(owner(), "POST", "/coins/purchase", body, "Idempotency-Key", "k").is(200)
			if got.field("balance") != "90" || got.header.Get("Idempotency-Replayed") != "true" || m.stored() != announced {
				t.Errorf("before %t: %s, %v, %d announcements, want %d", before, got.body, got.header, m.stored(), announced)
			}
		}
		a.as(owner(), "POST", "/coins/purchase", body, "Idempotency-Key", "l").refused(400, "No such product")
	}
}

// A key belongs to a caller, a route and an id.
func TestKeysHaveScopes(t *testing.T) {
	a := newAPI(t)
	for _, i := range []identity{viewer(), stranger(), {role: "viewer", opaque: "U5", user: "5", channel: "78"}, {role: "broadcaster", opaque: "U5", user: "5"}} {
		for _, path := range []string{"/vote?id=p", "/vote?id=globalp", "/accumulate?id=p", "/rank?id=p"} {
			got := a.as(i, "POST", path, `{"key":"a"}`, "Idempotency-Key", "k").is(200)
			if got.header.Get("Idempotency-Replayed") != "" {
				t.Errorf("%+v at %s: replayed", i, path)
			}
		}
	}
}

// A refusal is not kept; an answer to a repetition is that of now.
func TestKeyOfARefusal(t *testing.T) {
	a := newAPI(t)
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"p","config":{"disabled":true}}`).is(200)
	a.as(viewer(), "POST", "/vote?id=p", `{"value":3}`, "Idempotency-Key", "k").refused(400, "poll is closed")
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"p","config":{}}`).is(200)
	a.as(viewer(), "POST", "/vote?id=p", `{"value":3}`, "Idempotency-Key", "k").is(200)
	a.as(stranger(), "POST", "/vote?id=p", `{"value":3}`).is(200)
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"p","config":{"disabled":true}}`).is(200)
	got := a.as(viewer(), "POST", "/vote?id=p", `{"value":3}`, "Idempotency-Key", "k").is(200)
	if got.field("count") != "2" || got.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the repetition is answered %s", got.body)
	}
}

// An answer that is given again stays given, though it changed nothing, and another one
// replaced it.
func TestKeyOfAnUnchangedAnswer(t *testing.T) {
	a := newAPI(t)
	a.as(viewer(), "POST", "/rank", `{"key":"a"}`).is(200)
	a.as(viewer(), "POST", "/rank", `{"key":"a"}`, "Idempotency-Key", "k").want(200, `{"accepted":true,"original":"a"}`)
	a.as(viewer(), "POST", "/rank", `{"key":"b"}`).is(200)
	a.as(viewer(), "POST", "/rank", `{"key":"a"}`, "Idempotency-Key", "k").want(200, `{"accepted":true,"original":"b"}`)
	a.as(broadcaster(), "GET", "/rank", "").want(200, `{"data":[{"key":"b","score":1}]}`)
	a.as(viewer(), "PATCH", "/viewer_state", `{"a":1}`).is(200)
	a.as(viewer(), "PATCH", "/viewer_state", `{"a":1}`, "Idempotency-Key", "k").is(200)
	a.as(viewer(), "PATCH", "/viewer_state", `{"a":2}`).is(200)
	a.as(viewer(), "PATCH", "/viewer_state", `{"a":1}`, "Idempotency-Key", "k").is(200)
	a.as(viewer(), "GET", "/viewer_state", "").want(200, `{"a":2}`)
}

// Votes that are submitted together have one key or keys of their own.
func TestKeysOfVotes(t *testing.T) {
	a := newAPI(t)
	multi := `{"id":"p","config":{"totalVotesPerUser":9,"votesPerOption":9}}`
	a.as(broadcaster(), "POST", "/vote_config", multi).is(200)
	send := func(body, want string) answer {
		t.Helper()
		got := a.as(backend(), "POST", "/votes?id=p", body).is(200)
		if got.field("results") != want {
			t.Errorf("%s is answered %s, want %s", body, got.field("results"), want)
		}
		return got
	}
	const yes, again = `{"accepted":true}`, `{"accepted":true,"replayed":true}`
	used := `{"accepted":false,"reason":"The Idempotency-Key was used for another request"}`
	send(`{"votes":[{"user_id":"1","key":"a"},{"user_id":"1"},{"user_id":"2","key":"b"}]}`, `[`+yes+`,`+yes+`,`+yes+`]`)
	got := send(`{"votes":[{"key":"b","user_id":"2"},{"user_id":"1","key":"c"},{"user_id":"1","value":1,"key":"a"},{"user_id":"1","key":"a"}]}`, `[`+again+`,`+yes+`,`+used+`,`+again+`]`)
	if got.field("count") != "4" {
		t.Errorf("%s votes are counted, want 4", got.field("count"))
	}
	a.as(backend(), "POST", "/votes?id=p", `{"votes":[{"user_id":"1","key":"a"}]}`, "Idempotency-Key", "k").refused(400, "votes must have no keys beside an Idempotency-Key")
	for _, key := range []string{`""`, `7`, `null`, `"\u0007"`, `"` + strings.Repeat("x", 129) + `"`} {
		a.as(backend(), "POST", "/votes?id=p", `{"votes":[{"user_id":"1","key":`+key+`}]}`).refused(400, "Invalid body")
	}
}

// Section 1.4: where there is no room for the key of a request, it is refused with a reason and
// stores nothing; of several votes with keys each has its own answer. A single vote needs no room.
func TestKeysWithoutRoom(t *testing.T) {
	const reason = "Too many keys in a short time; nothing was stored"
	a := newAPI(t, func(c *apiSettings) {
		c.Voting = operation.NewVoting(voting.NewService(storetest.NewMemory(), stream.SystemClock(), stream.Options{KeyBudget: 8 * stream.KeySize}))
	})
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"p","config":{"totalVotesPerUser":99,"votesPerOption":99}}`).is(200)
	var votes []string
	for n := range 6 {
		votes = append(votes, fmt.Sprintf(`{"user_id":"5","key":"k%d"}`, n))
	}
	body := `{"votes":[` + strings.Join(votes, ",") + `]}`
	refused := `{"accepted":false,"reason":"` + reason + `"}`
	if got := a.as(backend(), "POST", "/votes?id=p", body).is(200); strings.Count(got.body, refused) != 2 || got.field("count") != "4" {
		t.Errorf("six votes are answered %s", got.body)
	}
	if got := a.as(backend(), "POST", "/votes?id=p", body).is(200); strings.Count(got.body, refused) != 2 || strings.Count(got.body, "replayed") != 4 || got.field("count") != "4" {
		t.Errorf("again they are answered %s", got.body)
	}
	for _, key := range []string{"a", "b"} { // a request with a key has a scope of its own
		a.as(backend(), "POST", "/votes?id=p", `{"votes":[{"user_id":"5"},{"user_id":"6"}]}`, "Idempotency-Key", key).is(200)
	}
	for _, w := range []struct{ body, key string }{
		{`{"votes":[{"user_id":"5","key":"k9"}]}`, ""},
		{`{"votes":[{"user_id":"5"},{"user_id":"6"}]}`, "c"},
	} {
		var headers []string
		if w.key != "" {
			headers = []string{"Idempotency-Key", w.key}
		}
		before := a.as(backend(), "GET", "/vote?id=p", "").body
		got := a.as(backend(), "POST", "/votes?id=p", w.body, headers...)
		got.refused(503, reason)
		if got.header.Get("Retry-After") != "5" || a.as(backend(), "GET", "/vote?id=p", "").body != before {
			t.Errorf("%s is refused with %v", w.body, got.header)
		}
	}
	a.as(viewer(), "POST", "/vote?id=p", `{}`, "Idempotency-Key", "k").is(200)
	a.as(viewer(), "POST", "/vote?id=single", `{"value":1}`, "Idempotency-Key", "k").is(200)
	if single := a.as(viewer(), "POST", "/vote?id=single", `{"value":1}`, "Idempotency-Key", "k").is(200); single.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("a repeated vote is answered %s", single.body)
	}
}
