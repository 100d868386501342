package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/httpapi"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// heldHistory is a poll whose histories take until they are released.
type heldHistory struct {
	httpapi.Voting
	begun, release chan struct{}
}

func (h heldHistory) History(context.Context, voting.Poll, voting.Voter, bool, voting.HistoryRange, voting.MemoryHold) (voting.History, error) {
	h.begun <- struct{}{}
	<-h.release
	return voting.History{}, nil
}

// Few logs are folded at once: one for a viewer, two for an extension, four in all.
func TestHistoriesAtOnce(t *testing.T) {
	held := heldHistory{begun: make(chan struct{}), release: make(chan struct{})}
	budgets := httpapi.NewBudgets(httpapi.BudgetLimits{Requests: 1000, PerAddress: 1000, BodyBytes: 1 << 20, HistoryBytes: 2 << 20})
	a := newAPI(t, func(c *httpapi.Config) { held.Voting, c.Voting, c.Budgets = c.Voting, held, budgets })
	finished := make(chan int)
	begin := func(i identity) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/vote_history", nil)
		r.Header.Set("Authorization", i.header(t))
		go func() {
			w := httptest.NewRecorder()
			a.handler.ServeHTTP(w, r)
			finished <- w.Code
		}()
		<-held.begun
	}
	begin(viewer())
	for _, path := range []string{"/vote_history", "/vote?at=9"} {
		a.as(viewer(), "GET", path, "").refused(429, "Too many questions about the past at once; nothing was stored")
	}
	begin(stranger())
	a.as(backend(), "GET", "/vote_history", "").is(429)
	begin(identity{extension: "other", key: otherKey, role: "viewer", opaque: "U5"})
	close(held.release)
	for range 3 {
		if status := <-finished; status != http.StatusOK {
			t.Errorf("a history ends with %d", status)
		}
	}
	if stats := budgets.Histories.Stats(); stats.Used != 0 || stats.OverShare != 3 {
		t.Errorf("%+v", stats)
	}
}

// The states into which logs are folded have a budget, half of it for an extension.
func TestMemoryOfHistories(t *testing.T) {
	for limit, status := range map[int64]int{2 << 20: 200, 1 << 20: 429} {
		budgets := httpapi.NewBudgets(httpapi.BudgetLimits{Requests: 1000, PerAddress: 1000, BodyBytes: 1 << 20, HistoryBytes: limit})
		a := newAPI(t, func(c *httpapi.Config) { c.Budgets = budgets })
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
type slowHistory struct{ httpapi.Voting }

func (slowHistory) History(ctx context.Context, _ voting.Poll, _ voting.Voter, _ bool, _ voting.HistoryRange, _ voting.MemoryHold) (voting.History, error) {
	<-ctx.Done()
	return voting.History{}, fault.Wrap(fault.Storage, ctx.Err(), "reading the log failed")
}

func TestSlowHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, func(c *httpapi.Config) { c.Voting = slowHistory{c.Voting} })
		began := time.Now()
		a.as(bubbled(viewer()), "GET", "/vote_history", "").refused(503, "The service cannot take this request now; nothing was stored")
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it is refused after %v", took)
		}
	})
}
