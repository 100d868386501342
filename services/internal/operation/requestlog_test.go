package operation

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// definition returns the row of an operation.
func definition(t testing.TB, name string) *Definition {
	t.Helper()
	rows := Table()
	at := slices.IndexFunc(rows, func(d Definition) bool { return d.Name == name })
	if at < 0 {
		t.Fatalf("there is no operation %s", name)
	}
	return &rows[at]
}

// Only what viewers write, themselves or through staff, and sign-ins are no writes of staff.
func TestWritesOfStaff(t *testing.T) {
	var others []string
	for _, o := range Table() {
		if o.Method != "GET" && !o.IsStaffWrite() {
			others = append(others, o.Name)
		}
		if o.Method == "GET" && o.IsStaffWrite() {
			t.Errorf("%s writes nothing", o.Name)
		}
	}
	want := []string{
		"vote.cast", "vote.castall", "device.create", "buffer.append", "question.answer", "state.viewer.replace", "state.viewer.change",
		"state.extensionviewer.replace", "state.extensionviewer.change", "message.whisper", "datastream.send",
		"pin.open", "staff.device.begin", "staff.device.finish", "viewer.signout", "bits.record", "coins.spend", "code.redeem", "trivia.answer", "trivia.team.join", "sandbox.token",
	}
	if diff := cmp.Diff(want, others); diff != "" {
		t.Errorf("the other writes (-want +got):\n%s", diff)
	}
}

// Slow calls have lines within a rate, beside those that all calls have. A stream of events is not
// slow because it lasts.
func TestSlowCallsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, want := range map[string]int{"vote.cast": 1 + slowPerSecond, "event.follow": 1} {
			s := newCallSampler(LogSampled)
			calls := &Observation{Operation: definition(t, name), Status: 200}
			if _, ok := s.admit(calls, slowCall-1); !ok {
				t.Error("the first call has no line")
			}
			lines, leftOut := 1, uint64(0)
			for range 100 {
				n, ok := s.admit(calls, slowCall)
				if leftOut += n; ok {
					lines++
				}
			}
			<-time.After(time.Second)
			n, ok := s.admit(calls, 0)
			if lines != want || !ok || uint64(lines)+leftOut+n != 101 {
				t.Errorf("%s: %d lines, want %d, and %d calls left out", name, lines, want, leftOut+n)
			}
		}
	})
}

// No client makes the table of a sampler grow without end.
func TestSamplersAreBounded(t *testing.T) {
	s := newCallSampler(LogSampled)
	for n := range 2 * maxLineGroups {
		s.admit(&Observation{Route: strings.Repeat("x", n%100), Status: n}, 0)
	}
	if len(s.groups) > maxLineGroups+1 {
		t.Errorf("%d groups", len(s.groups))
	}
}

// A call without a line costs no formatting.
func TestCallsWithoutLinesAllocateNothing(t *testing.T) {
	caller := &Caller{Extension: &tenant.Extension{ClientID: "ext"}, Role: Viewer, ChannelID: "1"}
	vote := definition(t, "vote.cast")
	for name, x := range map[string]*Observation{
		"a vote":           {ID: "1", Method: "POST", Route: "/vote", Operation: vote, Status: 200, Caller: caller},
		"a public result":  {Method: "GET", Route: "/public", Operation: definition(t, "poll.result"), Status: 200},
		"a refused vote":   {Method: "POST", Route: "/vote", Operation: vote, Status: 400, Caller: caller, Err: fault.New(fault.Invalid, "No")},
		"a viewer's reset": {Method: "DELETE", Route: "/vote", Operation: definition(t, "vote.reset"), Status: 403, Caller: caller, Err: errRole()},
		"no credential":    {Method: "POST", Route: "/vote", Operation: vote, Status: 401, Err: unauthenticated(flaw("no"))},
		"an old token":     {Method: "POST", Route: "/vote", Operation: vote, Status: 401, Err: unauthenticated(jwt.ErrTokenExpired)},
		"a broken token":   {Method: "POST", Route: "/vote", Operation: vote, Status: 401, Err: unauthenticated(errors.New("broken"))},
		"an unknown path":  {Method: "POST", Route: "unknown", Status: 404},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewService(Config{Logger: slog.New(slog.NewJSONHandler(io.Discard, nil))})
			s.logCall(x, 0)
			group := s.sampler.groupOf(x)
			group.lines.SetLimit(0)
			if n := testing.AllocsPerRun(100, func() { s.logCall(x, 0) }); n != 0 || group.out.Load() == 0 {
				t.Errorf("%v allocations for each of %d", n, group.out.Load())
			}
		})
	}
}

// The calls of games are sampled as those over HTTP are.
func TestCallsOfGamesAreSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := newTestVerifier(t).registry
		var log strings.Builder
		s := NewService(Config{
			Environment: tenant.Production, Registry: registry, Now: time.Now, Logger: slog.New(slog.NewJSONHandler(&log, nil)), Metrics: &lastStatus{},
		})
		staff := signedHeader(t, func(token *jwt.Token) { token.Claims.(jwt.MapClaims)["role"] = "broadcaster" })
		for name, want := range map[string]int{"message.broadcast": 20, "poll.read": 1} {
			log.Reset()
			for range 20 {
				if err := s.Run(t.Context(), Request{Operation: name, Face: "gamelink", Credential: staff}, func(context.Context, *Call) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
			if got := strings.Count(log.String(), `"face":"gamelink"`); got != want {
				t.Errorf("%s has %d lines, want %d:\n%s", name, got, want, log.String())
			}
		}
	})
}
