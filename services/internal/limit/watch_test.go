package limit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
)

// A pool and a ledger name a refused caller alike: in the error, the figures and the log.
func TestWhoIsAtABound(t *testing.T) {
	var out bytes.Buffer
	watch := limit.NewWatch(slog.New(slog.NewJSONHandler(&out, nil)))
	pool := limit.NewPool[string]("pages", 3, watch)
	who := limit.Caller{Environment: "production", Extension: "ext", Channel: "77"}
	pages := pool.Lease(who, limit.Share[string]{Holder: "viewer", Scope: limit.Identity, Limit: 2})
	if err := pages.Take(3); fault.KindOf(limit.Fault(err, "")) != fault.RateLimited {
		t.Errorf("more than the viewer's: %v", err)
	}
	if err := pool.Lease(who).Take(4); fault.KindOf(limit.Fault(err, "")) != fault.Unavailable {
		t.Errorf("more than all: %v", err)
	}
	ledger := limit.NewLedger(alone, watch)
	_ = ledger.Take(began, who, claim("a", 1, 1))
	all := claim("a", 1, 1)
	if err := ledger.Take(began, who, all); fault.KindOf(limit.Fault(err, "")) != fault.RateLimited {
		t.Errorf("more than the rate of all: %v", err)
	}
	want := map[limit.Bound]uint64{
		{Limit: "pages", Scope: limit.Identity, Environment: "production", Extension: "ext"}:   1,
		{Limit: "pages", Scope: limit.Everyone, Environment: "production", Extension: "ext"}:   1,
		{Limit: "streams", Scope: limit.Everyone, Environment: "production", Extension: "ext"}: 1,
	}
	if got := watch.Refusals(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := watch.Pools(); len(got) != 1 || got["pages"] != (limit.Stats{Limit: 3, Full: 1, OverShare: 1}) {
		t.Errorf("pools are %+v", got)
	}
	lines := json.NewDecoder(&out)
	for _, want := range []string{"INFO pages identity", "WARN pages all", "WARN streams all"} {
		var line struct{ Level, Msg, Limit, Scope, Environment, Extension, Channel string }
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if got := line.Level + " " + line.Limit + " " + line.Scope; got != want || line.Msg != "a limit is reached" ||
			line.Environment != "production" || line.Extension != "ext" || line.Channel != "77" {
			t.Errorf("%+v, want %s", line, want)
		}
	}
}

// The refusal of a party tells apart that it had its share, and that nothing was left.
func TestScopeOfParties(t *testing.T) {
	watch := limit.NewWatch(slog.New(slog.DiscardHandler))
	l := limit.NewLedger(alone, watch)
	ask := func(party string, times int) {
		for range times {
			c := shared(party, 100)
			c.Scope = limit.Extension
			_ = l.Take(began, limit.Caller{Extension: party}, c)
		}
	}
	ask("loud", 80)
	ask("quiet", 1)
	ask("loud", 1) // it has more than a third, and there is something left
	if got := watch.Refusals()[limit.Bound{Limit: "streams", Scope: limit.FairShare, Extension: "loud"}]; got != 1 {
		t.Errorf("%v", watch.Refusals())
	}
	ask("quiet", 20)
	ask("late", 1)
	if got := watch.Refusals()[limit.Bound{Limit: "streams", Scope: limit.Extension, Extension: "late"}]; got != 1 {
		t.Errorf("%v", watch.Refusals())
	}
}

// Each bound has a line a minute, and refusals of ever new extensions add no bounds without end.
func TestWatchIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		watch := limit.NewWatch(slog.New(slog.NewTextHandler(&out, nil)))
		for range 59 {
			watch.Note("pages", limit.Identity, limit.Caller{Extension: "ext"})
			<-time.After(time.Second)
		}
		watch.Note("pages", limit.Everyone, limit.Caller{Extension: "ext"})
		<-time.After(2 * time.Second)
		watch.Note("pages", limit.Identity, limit.Caller{Extension: "ext"})
		if n := bytes.Count(out.Bytes(), []byte("\n")); n != 3 {
			t.Errorf("%d lines, want 3:\n%s", n, &out)
		}
	})
	watch := limit.NewWatch(slog.New(slog.DiscardHandler))
	for i := range 2_000 {
		watch.Note("pages", limit.Identity, limit.Caller{Extension: fmt.Sprint(i)})
	}
	got, sum := watch.Refusals(), uint64(0)
	for _, n := range got {
		sum += n
	}
	if len(got) > 1_100 || sum != 2_000 {
		t.Errorf("%d bounds with %d refusals", len(got), sum)
	}
}
