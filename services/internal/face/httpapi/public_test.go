package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// publicWorld is an API whose clock stands still unless a test moves it, and which counts what it
// reads of polls.
type publicWorld struct {
	*api
	clock atomic.Int64 // nanoseconds since the beginning
	// overviews counts the reads of polls that are known to be public, visits those of others.
	overviews, visits atomic.Int64
	store             *countedStore
	votes             *voting.Service
}

func newPublicWorld(t *testing.T) *publicWorld {
	w, began := &publicWorld{store: &countedStore{Memory: storetest.NewMemory()}}, time.Now()
	w.votes = voting.NewService(w.store, stream.SystemClock(), stream.Options{})
	w.api = newAPI(t, func(c *apiSettings) {
		c.Now = func() time.Time { return began.Add(time.Duration(w.clock.Load())) }
		c.Voting = operation.NewVoting(w.votes)
		c.Voting.Configs = countedPolls{c.Voting.Configs, w}
		c.Proxies = httpapi.TrustedProxies{netip.MustParsePrefix("192.0.2.0/24")} // those of httptest
	})
	t.Cleanup(func() { _ = w.votes.Close(context.WithoutCancel(t.Context())) })
	return w
}

func (w *publicWorld) pass(d time.Duration) { w.clock.Add(int64(d)) }

func (w *publicWorld) read(path string, headers ...string) answer {
	w.t.Helper()
	return w.send(http.MethodGet, "/public/"+path+"/result.json", "", headers...)
}

func (w *publicWorld) configure(id, config string) {
	w.t.Helper()
	w.as(backend(), "POST", "/vote_config", configOf(id, config)).is(200)
}

// publicPoll configures a poll that everyone sees.
func publicPoll(_ *testing.T, a *api) string {
	a.as(owner(), http.MethodPost, "/vote_config", configOf("open", `{"publicResults":true,"options":["a"]}`)).is(http.StatusOK)
	return ""
}

// countedPolls counts reads of polls.
type countedPolls struct {
	operation.PollConfigurer
	w *publicWorld
}

func (c countedPolls) PublicOverview(ctx context.Context, p voting.Poll, visit bool) (voting.Overview, error) {
	if visit {
		c.w.visits.Add(1)
	} else {
		c.w.overviews.Add(1)
	}
	return c.PollConfigurer.PublicOverview(ctx, p, visit)
}

// countedStore counts what is read and written.
type countedStore struct {
	*storetest.Memory
	reads, appends atomic.Int64
}

func (s *countedStore) Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error] {
	s.reads.Add(1)
	return s.Memory.Chunks(ctx, name, after)
}

func (s *countedStore) Append(ctx context.Context, chunk stream.Chunk) error {
	s.appends.Add(1)
	return s.Memory.Append(ctx, chunk)
}

func TestPublicResult(t *testing.T) {
	w := newPublicWorld(t)
	w.configure("lunch", `{"prompt":"Lunch?","options":["tea","cake"],"userData":{"secret":1},"publicResults":true}`)
	w.as(viewer(), "POST", "/vote?id=lunch", `{"value":1}`).is(200)

	first := w.read("ext/77/lunch", "Origin", "https://anywhere.example").is(200)
	stats := w.as(stranger(), "GET", "/vote?id=lunch", "").is(200).body
	poll := w.as(stranger(), "GET", "/poll?id=lunch", "").is(200)
	first.want(200, `{"name":{"client":"ext","channel":"77","poll":"lunch"},"now":{"poll":{"prompt":"Lunch?","options":["tea","cake"],
		"status":"active","disabled":false,"startsAt":0,"endsAt":0,"version":`+poll.field("version")+`},"votes":`+stats+`,"signed":false}}`)
	for name, want := range map[string]string{
		"Cache-Control": "public, max-age=1, stale-while-revalidate=1", "Access-Control-Allow-Origin": "*", "Vary": "",
	} {
		if got := first.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	tag := first.header.Get("ETag")
	if same := w.read("ext/77/lunch", "If-None-Match", tag, "Authorization", "nonsense").is(304); same.header.Get("ETag") != tag || same.body != "" {
		t.Errorf("304 with %v and %q", same.header, same.body)
	}
	if head := w.send("HEAD", "/public/ext/77/lunch/result.json", "").is(200); head.header.Get("ETag") != tag {
		t.Errorf("HEAD answers %v", head.header)
	}
	if preflight := w.send("OPTIONS", "/public/ext/77/lunch/result.json", "").is(204); preflight.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("the preflight answers %v", preflight.header)
	}
	w.send("POST", "/public/ext/77/lunch/result.json", "").is(405)
	for _, query := range []string{"?", "?x=1", "?id=lunch"} {
		w.send("GET", "/public/ext/77/lunch/result.json"+query, "").refused(400, "A public result has no query")
	}

	w.as(broadcaster(), "POST", "/vote?id=lunch", `{"value":1}`).is(200)
	w.pass(time.Second)
	if second := w.read("ext/77/lunch", "If-None-Match", tag).is(200); second.header.Get("ETag") == tag || !strings.Contains(second.body, `"count":2,`) {
		t.Errorf("after another vote: %s", second.body)
	}
}

// Only polls that opt in have a public result, and only while every viewer sees the results.
func TestPublicResultsFollowVisibility(t *testing.T) {
	w := newPublicWorld(t)
	for i, test := range []struct {
		config string
		status int
	}{
		{`{}`, 404},
		{`{"publicResults":false}`, 404},
		{`{"publicResults":true}`, 200},
		{`{"publicResults":true,"disabled":true}`, 200},
		{`{"publicResults":true,"startsAt":4102444800}`, 200},
		{`{"publicResults":true,"resultsVisibility":"staff"}`, 404},
		{`{"publicResults":true,"resultsVisibility":"staff","showCount":true}`, 404},
		{`{"publicResults":true,"resultsVisibility":"staff","endsAt":1}`, 404},
		{`{"publicResults":true,"resultsVisibility":"afterVote"}`, 404},
		{`{"publicResults":true,"resultsVisibility":"afterVote","endsAt":1}`, 200},
		{`{"publicResults":true,"resultsVisibility":"afterClose","disabled":true}`, 404},
		{`{"publicResults":true,"resultsVisibility":"afterClose","endsAt":1}`, 200},
	} {
		id := fmt.Sprint("p", i)
		w.configure(id, test.config)
		got := w.read("ext/77/" + id)
		if got.is(test.status); test.status == 404 {
			got.refused(404, "No such public result")
			if got.header.Get("Cache-Control") != "public, max-age=1" {
				t.Errorf("%s: caches are told %q", test.config, got.header.Get("Cache-Control"))
			}
		}
	}
	w.as(viewer(), "POST", "/vote?id=unconfigured", `{"value":1}`).is(200)
	for _, path := range []string{"ext/77/unconfigured", "ext/77/none", "none/77/p2", "ext/78/p2", "ext/-/p2", "ext/77/p2.", "ext/77/" + strings.Repeat("p", 65)} {
		w.read(path).refused(404, "No such public result")
	}
	w.send("GET", "/public/ext/77/result.json", "").refused(404, "No such route")
}

// Whatever takes a result away takes it from everyone within half a second, and the other way
// round within a second.
func TestPublicResultsAreWithdrawn(t *testing.T) {
	for name, withdraw := range map[string][3]string{
		"hidden":      {"PATCH", "/vote_config", `{"id":"p","config":{"resultsVisibility":"staff"}}`},
		"not public":  {"PATCH", "/vote_config", `{"id":"p","config":{"publicResults":false}}`},
		"replaced":    {"POST", "/vote_config", `{"id":"p","config":{}}`},
		"deleted":     {"DELETE", "/vote?id=p", ""},
		"reopened":    {"PATCH", "/vote_config", `{"id":"p","config":{"endsAt":4102444800}}`},
		"to be voted": {"PATCH", "/vote_config", `{"id":"p","config":{"resultsVisibility":"afterVote","endsAt":0}}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPublicWorld(t)
			w.configure("p", `{"publicResults":true,"resultsVisibility":"afterClose","endsAt":1}`)
			for range 3 { // known, then read as viewers read it
				w.read("ext/77/p").is(200)
				w.pass(time.Second)
			}
			w.read("ext/77/p").is(200)
			w.as(backend(), withdraw[0], withdraw[1], withdraw[2]).is(200)
			w.pass(500 * time.Millisecond)
			w.read("ext/77/p").is(404)
			w.configure("p", `{"publicResults":true}`)
			w.pass(time.Second)
			w.read("ext/77/p").is(200)
		})
	}
}

func TestPublicNames(t *testing.T) {
	w := newPublicWorld(t)
	for id, segment := range map[string]string{
		"a/b c+d": "a%2Fb%20c+d", "é?&%": "%C3%A9%3F%26%25", "global 1/2": "",
	} {
		w.configure(id, `{"publicResults":true,"prompt":"`+id+`"}`)
		if segment != "" {
			if got := w.read("ext/77/" + segment).is(200); !strings.Contains(got.body, `"prompt":"`+id+`"`) {
				t.Errorf("%s: %s", segment, got.body)
			}
		}
	}
	global := w.read("ext/-/global%201%2F2").is(200)
	if want := `{"client":"ext","channel":"","poll":"global 1/2"}`; canonical(t, global.field("name")) != canonical(t, want) {
		t.Errorf("the name is %s, want %s", global.field("name"), want)
	}
	w.read("ext/77/global%201%2F2").is(404)
	w.read("ext/-/a%2Fb%20c+d").is(404)
	w.send("GET", "/public/ext/77/a/b%20c+d/result.json", "").refused(404, "No such route")
}

// The environments share nothing.
func TestPublicResultsOfTheSandbox(t *testing.T) {
	a := newAPI(t)
	box := identity{role: "broadcaster", opaque: "U77", user: "77", key: sandboxKey}
	a.send("POST", "/sandbox/v1/vote_config", configOf("p", `{"publicResults":true,"prompt":"box"}`), "Authorization", box.header(t)).is(200)
	a.send("GET", "/public/ext/77/p/result.json", "").is(404)
	if got := a.send("GET", "/sandbox/public/ext/77/p/result.json", "").is(200); !strings.Contains(got.body, "box") {
		t.Error(got.body)
	}
	a.as(backend(), "POST", "/vote_config", configOf("q", `{"publicResults":true}`)).is(200)
	a.send("GET", "/public/ext/77/q/result.json", "").is(200)
	a.send("GET", "/sandbox/public/ext/77/q/result.json", "").is(404)
}

// Names that are not those of public results are remembered, keep no poll in memory, write nothing,
// and are limited by address. What is known to be public is not.
func TestUnknownPublicNames(t *testing.T) {
	w := newPublicWorld(t)
	w.configure("open", `{"publicResults":true}`)
	w.read("ext/77/open").is(200)
	w.configure("closed", `{}`)
	other := voting.NewService(w.store, stream.SystemClock(), stream.Options{}) // it has nothing in memory
	defer func() { _ = other.Close(t.Context()) }()
	for _, id := range []string{"closed", "open", "none"} {
		poll := voting.Poll{Environment: "production", Extension: "ext", Channel: "77", ID: id}
		if o, err := other.PublicOverview(t.Context(), poll, true); err != nil || o.Configured != (id == "open") {
			t.Errorf("%s: %+v, %v", id, o, err)
		}
	}
	if err := other.Close(t.Context()); err != nil { // waits for its workers
		t.Fatal(err)
	}
	if stats := other.Stats(); stats.Streams != 0 || stats.ResidentBytes != 0 {
		t.Errorf("%d streams with %d bytes stay in memory", stats.Streams, stats.ResidentBytes)
	}

	appends, reads, visits := w.store.appends.Load(), w.store.reads.Load(), w.visits.Load()
	for range 150 {
		w.read("ext/77/none", "X-Forwarded-For", "203.0.113.6").is(404)
		w.read("ext/77/closed", "X-Forwarded-For", "203.0.113.6").is(404)
	}
	if got := w.visits.Load() - visits; got != 2 {
		t.Errorf("%d reads for 300 requests of two names, want 2", got)
	}
	if got := w.store.reads.Load() - reads; got > 10 {
		t.Errorf("%d reads of the store for 300 requests of two names", got)
	}
	from, refused := "203.0.113.7", 0
	for i := range 400 {
		if w.read(fmt.Sprint("ext/77/n", i), "X-Forwarded-For", from).status == http.StatusTooManyRequests {
			refused++
		}
	}
	if visits = w.visits.Load() - visits - 2; visits > 200 || refused < 200 {
		t.Errorf("%d names of one address were read and %d refused", visits, refused)
	}
	if w.store.appends.Load() != appends {
		t.Error("names that are asked for bring something into being")
	}
	w.read("ext/77/open", "X-Forwarded-For", from).is(200)
	w.read("ext/77/elsewhere", "X-Forwarded-For", "203.0.113.8").is(404)
	w.pass(time.Second)
	w.read("ext/77/open", "X-Forwarded-For", from).is(200)
}

// However many ask at once, a poll is read once, and a few times in a second.
func TestPublicResultsShareReads(t *testing.T) {
	w := newPublicWorld(t)
	w.configure("p", `{"publicResults":true}`)
	w.read("ext/77/p").is(200)
	for range 10 {
		w.pass(100 * time.Millisecond)
		var crowd sync.WaitGroup
		for range 20 {
			crowd.Go(func() { w.read("ext/77/p").is(200) })
		}
		crowd.Wait()
	}
	if got := w.overviews.Load(); got > 4 {
		t.Errorf("%d reads in a second for 200 requests", got)
	}
}

// cachingProxy is the smallest reverse proxy that keeps answers for as long as they allow: fresh
// ones for max-age, and for stale-while-revalidate more the old one, while it asks again.
type cachingProxy struct {
	origin http.Handler
	now    func() time.Time
	asked  int

	kept *httptest.ResponseRecorder
	at   time.Time
}

func (p *cachingProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	served, age := p.kept, p.now().Sub(p.at)
	if served == nil || age >= time.Second {
		p.asked++
		fresh := httptest.NewRecorder()
		p.origin.ServeHTTP(fresh, r)
		if p.kept, p.at = fresh, p.now(); served == nil || age >= 2*time.Second || !strings.Contains(served.Header().Get("Cache-Control"), "stale-while-revalidate=1") {
			served = fresh
		}
	}
	maps.Copy(w.Header(), served.Header())
	w.WriteHeader(served.Code)
	_, _ = w.Write(served.Body.Bytes())
}

// Behind a cache, a crowd costs the origin at most two requests in a second, and sees no result
// that is older than two seconds.
func TestPublicResultBehindACache(t *testing.T) {
	w := newPublicWorld(t)
	w.configure("p", `{"publicResults":true}`)
	origin := httptest.NewServer(w.handler)
	defer origin.Close()
	target, err := url.Parse(origin.URL)
	if err != nil {
		t.Fatal(err)
	}
	cache := &cachingProxy{
		origin: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }},
		now:    func() time.Time { return time.Unix(0, w.clock.Load()) },
	}
	front := &api{t: t, handler: cache}
	const seconds, each = 20, 50
	for i := range seconds * each {
		version := i/each + 1
		if i%each == 0 { // a vote more each second
			w.as(identity{role: "viewer", opaque: fmt.Sprint("U", version)}, "POST", "/vote?id=p", `{"value":1}`).is(200)
		}
		var got struct {
			Now struct{ Votes struct{ Count int } }
		}
		if err := json.Unmarshal([]byte(front.send("GET", "/public/ext/77/p/result.json", "").is(200).body), &got); err != nil {
			t.Fatal(err)
		}
		if count := got.Now.Votes.Count; count < version-2 {
			t.Errorf("in second %d: %d votes, so the result is older than two seconds", version, count)
		}
		w.pass(time.Second / each)
	}
	if limit := 2 * seconds; cache.asked > limit || cache.asked < seconds/2 {
		t.Errorf("%d requests reached the origin in %d seconds, want at most %d", cache.asked, seconds, limit)
	}
	w.as(backend(), "DELETE", "/vote?id=p", "").is(200)
	for range 2 * each {
		w.pass(time.Second / each)
		front.send("GET", "/public/ext/77/p/result.json", "")
	}
	front.send("GET", "/public/ext/77/p/result.json", "").is(404)
}
