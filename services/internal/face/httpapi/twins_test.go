package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
)

// TestTwins is the promise of section 2.9: of two polls that differ only in the votes of
// others, a viewer receives the same bytes at the same times, on every route and in every
// stream of events, as long as the results are hidden.
func TestTwins(t *testing.T) {
	for seed := range uint64(12) {
		var twins [2][]string
		for twin := range twins {
			synctest.Test(t, func(t *testing.T) {
				twins[twin] = newTwin(t, seed, twin).play()
			})
		}
		if diff := cmp.Diff(twins[0], twins[1]); diff != "" {
			t.Fatalf("with seed %d a viewer can tell the polls apart (-no votes +votes):\n%s", seed, diff)
		}
		if len(twins[0]) < 100 {
			t.Errorf("with seed %d a viewer received %d times only", seed, len(twins[0]))
		}
	}
}

// twin is one of two worlds with the same staff and the same viewer.
type twin struct {
	t       *testing.T
	a       *api
	began   time.Time
	shared  *rand.Rand // the same in both
	private *rand.Rand // nil: the others do not vote
	hides   string     // resultsVisibility

	mu       sync.Mutex
	received []string
	lastID   string
}

func newTwin(t *testing.T, seed uint64, n int) *twin {
	w := &twin{t: t, a: newAPI(t), began: time.Now(), shared: rand.New(rand.NewPCG(seed, 0))}
	if n > 0 {
		w.private = rand.New(rand.NewPCG(seed, 1))
	}
	w.hides = []string{"afterClose", "staff", "afterVote"}[seed%3]
	return w
}

// random are the parts of an answer that differ from run to run.
var random = regexp.MustCompile(`(retry: \d+|id: [A-Z2-7]{10})`)

func (tw *twin) record(what, text string) {
	tw.mu.Lock()
	defer tw.mu.Unlock()
	for line := range strings.Lines(text) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			tw.lastID = strings.TrimSpace(id)
		}
	}
	text = random.ReplaceAllStringFunc(text, func(s string) string { return s[:strings.IndexByte(s, ':')] })
	tw.received = append(tw.received, fmt.Sprintf("%v %s %s", time.Since(tw.began), what, text))
}

// ask sends a request of the viewer and records the answer.
func (tw *twin) ask(method, path, body string, headers ...string) {
	got := tw.a.as(bubbled(viewer()), method, path, body, headers...)
	got.header.Del("X-Request-Id")
	var head bytes.Buffer
	_ = got.header.Write(&head) // sorted, into a buffer
	tw.record(method+" "+path, fmt.Sprint(got.status, " ", head.String(), got.body))
}

// staff sends a request of the broadcaster.
func (tw *twin) staff(method, path, body string) {
	tw.a.as(bubbled(broadcaster()), method, path, body).is(http.StatusOK)
}

// listen subscribes for a while.
func (tw *twin) listen(name string, who identity, lifetime time.Duration, query string, headers ...string) {
	ctx, end := context.WithTimeout(tw.t.Context(), lifetime)
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/events"+query, nil)
	r.Header.Set("Authorization", bubbled(who).header(tw.t))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	ear := &twinEar{header: http.Header{}, hear: func(text string) {
		for event := range strings.SplitAfterSeq(text, "\n\n") { // how many a write has is by chance
			if name != "" && event != "" {
				tw.record(name, event)
			}
		}
	}}
	go func() {
		defer end()
		tw.a.handler.ServeHTTP(ear, r)
	}()
	synctest.Wait()
}

type twinEar struct {
	header http.Header
	hear   func(string)
}

func (e *twinEar) Header() http.Header { return e.header }
func (e *twinEar) Flush()              {}
func (e *twinEar) WriteHeader(int)     {}
func (e *twinEar) Write(b []byte) (int, error) {
	e.hear(string(b))
	return len(b), nil
}

const twinLife = 200 * time.Second

func (tw *twin) play() []string {
	tw.configure()
	tw.listen("viewer", viewer(), twinLife, "")
	tw.listen("stranger", stranger(), twinLife, "?topic=vote_update:p&topic=poll_update:*&topic=goal")
	tw.listen("", broadcaster(), twinLife, "") // staff causes events of its own
	for range 60 {
		tw.pass(time.Duration(20+tw.shared.IntN(2500)) * time.Millisecond)
		tw.step()
	}
	tw.pass(3 * time.Second)
	tw.mu.Lock()
	defer tw.mu.Unlock()
	slices.Sort(tw.received) // what comes at the same time comes in any order
	return tw.received
}

// pass lets time go by, and the others vote meanwhile.
func (tw *twin) pass(d time.Duration) {
	end := time.Now().Add(d)
	for tw.private != nil && tw.private.IntN(3) > 0 {
		if left := time.Until(end); left > time.Millisecond {
			<-time.After(time.Duration(tw.private.Int64N(int64(left/time.Millisecond))) * time.Millisecond)
		}
		voter := identity{role: "viewer", opaque: fmt.Sprint("U", 100+tw.private.IntN(30))}
		tw.a.as(bubbled(voter), "POST", "/vote?id=p", fmt.Sprintf(`{"value":%d}`, tw.private.IntN(32)))
		if tw.private.IntN(8) == 0 {
			tw.staff("POST", "/vote_modifier?id=p", fmt.Sprintf(`{"user":%q,"add":1}`, voter.opaque))
		}
	}
	<-time.After(time.Until(end))
	synctest.Wait()
}

// configure saves another configuration that hides the results for the rest of the run: a
// poll closes only where its results are for staff.
func (tw *twin) configure() {
	ends := time.Now().Unix() + 1000
	if tw.hides == "staff" {
		ends = time.Now().Unix() + int64(tw.shared.IntN(12)) - 3
	}
	tw.staff("POST", "/vote_config", configOf("p", fmt.Sprintf(`{"resultsVisibility":%q,"prompt":"%d","disabled":%v,"endsAt":%d}`,
		tw.hides, tw.shared.IntN(1000), tw.shared.IntN(4) == 0, ends)))
}

// step is one thing that happens in both worlds.
func (tw *twin) step() {
	switch tw.shared.IntN(9) {
	case 0, 1:
		tw.configure()
	case 2:
		tw.staff("POST", "/broadcast", `{"event":"goal","data":1}`)
	case 3:
		tw.staff("POST", "/channel_state", fmt.Sprintf(`{"n":%d}`, tw.shared.IntN(1000)))
	case 4:
		tw.staff("DELETE", "/vote?id=p", "")
		tw.configure()
	case 5:
		tw.mu.Lock()
		last := tw.lastID
		tw.mu.Unlock()
		tw.listen(fmt.Sprint("again ", tw.shared.IntN(1000)), viewer(), 5*time.Second, "", "Last-Event-ID", last)
	case 6:
		if tw.hides != "afterVote" { // the own vote would show the results
			tw.ask("POST", "/vote?id=p", fmt.Sprintf(`{"value":%d}`, tw.shared.IntN(32)))
		}
	default:
		for _, route := range httpapi.Routes() {
			if route.Method == http.MethodGet && route.Path != "/events" && route.Path != "/user_info" { // whose id is from a random secret
				tw.ask("GET", route.Path+"?id=p", "", "Accept-Encoding", []string{"gzip", ""}[tw.shared.IntN(2)])
			}
		}
		ago := time.Now().Unix() - tw.shared.Int64N(20)
		tw.ask("GET", fmt.Sprint("/vote?id=p&at=", ago), "")
		tw.ask("GET", fmt.Sprint("/vote_history?id=p&step=1&to=", ago), "")
	}
}
