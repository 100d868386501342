package httpapi_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// heldHistory is a poll whose histories take until they are released.
type heldHistory struct {
	operation.TallyReader
	begun, release chan struct{}
}

func (h heldHistory) History(context.Context, voting.Poll, voting.Voter, bool, voting.HistoryRange, voting.MemoryHold) (voting.History, error) {
	h.begun <- struct{}{}
	<-h.release
	return voting.History{}, nil
}

// historyWorld is an API with several extensions and a poll whose histories are held.
func historyWorld(t *testing.T) (a *api, budgets *operation.Budgets, begin func(i identity, query string), end func()) {
	held := heldHistory{begun: make(chan struct{}), release: make(chan struct{})}
	budgets = operation.NewBudgets(operation.BudgetLimits{Requests: 1000, PerAddress: 1000, BodyBytes: 1 << 20, HistoryBytes: 2 << 20})
	a = newAPI(t, func(c *apiSettings) {
		held.TallyReader, c.Budgets = c.Voting.Tallies, budgets
		c.Voting.Tallies = held
	})
	file := registryFile
	for _, id := range []string{"e1", "e2", "e3"} {
		file += "- clientID: " + id + "\n  secrets: [{value: " + base64.StdEncoding.EncodeToString([]byte(id+otherKey)) + "}]\n"
	}
	a.reload(file)
	finished, begun := make(chan int), 0
	begin = func(i identity, query string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/vote_history"+query, nil)
		r.Header.Set("Authorization", i.header(t))
		begun++
		go func() {
			w := httptest.NewRecorder()
			a.handler.ServeHTTP(w, r)
			finished <- w.Code
		}()
		select {
		case <-held.begun:
		case status := <-finished:
			t.Fatalf("%+v%s: %d", i, query, status)
		}
	}
	end = func() {
		close(held.release)
		for range begun {
			if status := <-finished; status != http.StatusOK {
				t.Errorf("a history ends with %d", status)
			}
		}
		if stats := budgets.Histories.Stats(); stats.Used != 0 {
			t.Errorf("%+v", stats)
		}
	}
	return a, budgets, begin, end
}

func viewerOf(extension string) identity {
	return identity{extension: extension, key: extension + otherKey, role: "viewer", opaque: "U5", user: "5"}
}

const tooMuchPast = "Too many questions about the past at once; nothing was stored"

// Few logs are folded at once: one for a viewer, two for an extension, four in all.
func TestHistoriesAtOnce(t *testing.T) {
	a, budgets, begin, end := historyWorld(t)
	begin(viewer(), "")
	for _, path := range []string{"/vote_history?step=9", "/vote?at=9"} {
		a.as(viewer(), "GET", path, "").refused(429, tooMuchPast)
	}
	begin(backend(), "")
	a.as(broadcaster(), "GET", "/vote_history?step=9", "").refused(429, tooMuchPast)
	begin(viewerOf("e1"), "")
	end()
	if stats := budgets.Histories.Stats(); stats.OverShare != 3 {
		t.Errorf("%+v", stats)
	}
}

// However many viewers ask about the past, the staff of their extension finds a turn.
func TestViewersLeaveHistoriesToStaff(t *testing.T) {
	a, _, begin, end := historyWorld(t)
	begin(viewer(), "")
	for _, viewer := range []identity{viewer(), stranger(), {role: "viewer", opaque: "U6", user: "6"}} {
		a.as(viewer, "GET", "/vote_history?step=9", "").refused(429, tooMuchPast)
	}
	begin(viewerOf("e1"), "")
	begin(viewerOf("e2"), "")
	a.as(viewerOf("e3"), "GET", "/vote_history", "").refused(429, tooMuchPast)
	begin(broadcaster(), "")
	end()
}

// foldCounter counts histories. Each takes a second.
type foldCounter struct {
	operation.TallyReader
	folds, ended *atomic.Int32
}

func (f foldCounter) History(ctx context.Context, p voting.Poll, v voting.Voter, viewer bool, r voting.HistoryRange, hold voting.MemoryHold) (voting.History, error) {
	f.folds.Add(1)
	select {
	case <-time.After(time.Second):
		return f.TallyReader.History(ctx, p, v, viewer, r, hold)
	case <-ctx.Done():
		f.ended.Add(1)
		return voting.History{}, ctx.Err()
	}
}

// countFolds runs a test with an API whose histories are counted. folded checks how many there
// were since it was called last.
func countFolds(t *testing.T, test func(a *api, ended *atomic.Int32, folded func(int32))) {
	synctest.Test(t, func(t *testing.T) {
		folds, ended := new(atomic.Int32), new(atomic.Int32)
		a := newAPI(t, func(c *apiSettings) { c.Voting.Tallies = foldCounter{c.Voting.Tallies, folds, ended} })
		a.as(bubbled(viewer()), "POST", "/vote", `{"value":1}`).is(200)
		test(a, ended, func(want int32) {
			t.Helper()
			if got := folds.Swap(0); got != want {
				t.Errorf("%d logs were folded, want %d", got, want)
			}
		})
	})
}

func strangers(n int) (all []identity) {
	for i := range n {
		all = append(all, bubbled(identity{role: "viewer", opaque: fmt.Sprint("A", i)}))
	}
	return all
}

// Equal questions of a moment have one answer. Staff has its own, since it sees more.
func TestEqualHistories(t *testing.T) {
	countFolds(t, func(a *api, _ *atomic.Int32, folded func(int32)) {
		var all sync.WaitGroup
		for _, i := range append(strangers(9), bubbled(viewer()), bubbled(broadcaster())) {
			all.Go(func() { a.as(i, "GET", "/vote_history?step=5", "").is(200) })
		}
		all.Wait()
		folded(2)
		a.as(strangers(1)[0], "GET", "/vote_history?step=5", "").is(200)
		folded(0)
		a.as(strangers(1)[0], "GET", "/vote_history?step=6", "").is(200)
		a.as(strangers(1)[0], "GET", "/vote_history?step=5&id=other", "").is(200)
		folded(2)
		<-time.After(4 * time.Second)
		a.as(strangers(1)[0], "GET", "/vote_history?step=5", "").is(200)
		folded(1)
	})
}

// A kept answer shows nothing that is hidden or deleted now.
func TestKeptHistoriesHide(t *testing.T) {
	countFolds(t, func(a *api, _ *atomic.Int32, folded func(int32)) {
		<-time.After(2 * time.Second)
		ask := func() string { return a.as(bubbled(stranger()), "GET", "/vote_history?step=5", "").is(200).body }
		if first := ask(); !strings.Contains(first, `"count":1`) || ask() != first {
			t.Errorf("the history is %s", first)
		}
		folded(1)
		a.as(bubbled(backend()), "POST", "/vote_config", `{"config":{"resultsVisibility":"staff"}}`).is(200)
		if got := ask(); got != `{"points":[],"hidden":true}` {
			t.Errorf("the hidden history is %s", got)
		}
		a.as(bubbled(backend()), "POST", "/vote_config", `{"config":{}}`).is(200)
		a.as(bubbled(backend()), "DELETE", "/vote", "").is(200)
		if got := ask(); strings.Contains(got, `"count":1`) {
			t.Errorf("after a reset the history is %s", got)
		}
	})
}

// A fold goes on for the others when the first to ask is gone, and ends with the last one.
func TestHistoryOfTheGone(t *testing.T) {
	countFolds(t, func(a *api, ended *atomic.Int32, folded func(int32)) {
		ask := func(i identity) (leave func(), status func() int) {
			ctx, cancel := context.WithCancel(context.Background())
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/vote_history?step=5", nil)
			r.Header.Set("Authorization", i.header(a.t))
			answered := make(chan int, 1)
			go func() {
				w := httptest.NewRecorder()
				a.handler.ServeHTTP(w, r)
				answered <- w.Code
			}()
			synctest.Wait()
			return cancel, func() int { return <-answered }
		}
		who := strangers(3)
		leave, gone := ask(who[0])
		stay, answered := ask(who[1])
		leave()
		if got := answered(); got != 200 || ended.Load() != 0 {
			t.Errorf("the other caller gets %d", got)
		}
		stay()
		gone()
		folded(1)
		<-time.After(5 * time.Second)
		first, status := ask(who[0])
		second, status2 := ask(who[1])
		first()
		second()
		status()
		status2()
		if synctest.Wait(); ended.Load() != 1 {
			t.Error("the fold goes on for no caller")
		}
		a.as(who[2], "GET", "/vote_history?step=5", "").is(200)
		folded(2)
	})
}

// The states into which logs are folded have a budget, half of it for an extension.
func TestMemoryOfHistories(t *testing.T) {
	for limit, status := range map[int64]int{2 << 20: 200, 1 << 20: 429} {
		budgets := operation.NewBudgets(operation.BudgetLimits{Requests: 1000, PerAddress: 1000, BodyBytes: 1 << 20, HistoryBytes: limit})
		a := newAPI(t, func(c *apiSettings) { c.Budgets = budgets })
		a.as(viewer(), "POST", "/vote", `{"value":1}`).is(200)
		for _, path := range []string{"/vote_history", "/vote?at=9"} {
			if got := a.as(viewer(), "GET", path, ""); got.status != status {
				t.Errorf("%s with %d bytes: %d %s", path, limit, got.status, got.body)
			}
		}
		if used := budgets.HistoryBytes.Stats().Used; used != 0 {
			t.Errorf("%d bytes are still held", used)
		}
	}
}

// slowHistory is a poll with a log that takes too long.
type slowHistory struct{ operation.TallyReader }

func (slowHistory) History(ctx context.Context, _ voting.Poll, _ voting.Voter, _ bool, _ voting.HistoryRange, _ voting.MemoryHold) (voting.History, error) {
	<-ctx.Done()
	return voting.History{}, fault.Wrap(fault.Storage, ctx.Err(), "reading the log failed")
}

func TestSlowHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, func(c *apiSettings) { c.Voting.Tallies = slowHistory{c.Voting.Tallies} })
		began := time.Now()
		a.as(bubbled(viewer()), "GET", "/vote_history", "").refused(503, "The service cannot take this request now; nothing was stored")
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it is refused after %v", took)
		}
	})
}
