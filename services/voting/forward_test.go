package voting_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// owner is another process that owns every stream. lose reports whether the answer to
// the nth request is lost.
type owner struct {
	service *voting.Service
	lose    func(n int) bool

	mu   sync.Mutex
	sent int
	late [][]byte // requests whose answer was lost
}

func (o *owner) Owner(string) stream.Peer { return o }
func (o *owner) Contenders(string) int    { return 0 }
func (o *owner) ID() string               { return "owner" }

func (o *owner) Send(ctx context.Context, request []byte, receive func(part []byte)) error {
	var parts [][]byte
	err := o.service.Serve(ctx, request, func(part []byte) { parts = append(parts, part) })
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent++
	if o.lose != nil && o.lose(o.sent) {
		o.late = append(o.late, request)
		return errors.New("connection reset")
	}
	for _, part := range parts {
		receive(part)
	}
	return err
}

// passing returns a service that passes everything to an owner over the same
// store.
func passing(t *testing.T, store stream.Store, lose func(n int) bool) (*voting.Service, *owner) {
	o := &owner{service: serviceOver(t, store), lose: lose}
	return newService(t, store, stream.Options{Peers: o}), o
}

var forwardedPoll = voting.Poll{Environment: "production", Extension: "e", Channel: "c", ID: "p"}

// A forwarded command or query gets the answer that this process would have given.
func TestPassedOnIsAnsweredTheSame(t *testing.T) {
	ctx := t.Context()
	store := storetest.NewMemory()
	away, o := passing(t, store, nil)
	here := o.service
	config := voting.Config{DistinctOptionsPerUser: 2, TotalVotesPerUser: 5, VotesPerOption: 5, Prompt: "Tea?", Options: []string{"yes", "no"}}
	config.UserData = json.RawMessage(`"` + strings.Repeat("<", 1022) + `"`) // as long as may be, and longer for HTML
	if err := away.Configure(ctx, forwardedPoll, config); err != nil {
		t.Fatal(err)
	}
	if err := away.Modify(ctx, forwardedPoll, "U1", 1<<52); err != nil {
		t.Fatal(err)
	}
	voter := voting.Voter{OpaqueID: "U1", UserID: "1"}
	voted, err := away.Vote(ctx, forwardedPoll, voter, 7, 3)
	if err != nil {
		t.Fatal(err)
	}
	want, err := here.Tally(ctx, forwardedPoll, voter)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := away.Tally(ctx, forwardedPoll, voter)
	if err != nil {
		t.Fatal(err)
	}
	for name, tally := range map[string]voting.Tally{"vote": voted, "tally": asked} {
		if got := string(tally.AppendJSON(nil)); got != string(want.AppendJSON(nil)) {
			t.Errorf("%s passed on is answered\n%s, want\n%s", name, got, want.AppendJSON(nil))
		}
	}
	_, refused := away.Vote(ctx, forwardedPoll, voter, 7, 3)
	_, wanted := here.Vote(ctx, forwardedPoll, voter, 7, 3)
	if fault.KindOf(refused) != fault.Invalid || refused.Error() != wanted.Error() {
		t.Errorf("a vote too many passed on is refused with %v, want %v", refused, wanted)
	}
	got, _, saved, err := away.Config(ctx, forwardedPoll)
	if err != nil || !saved || got.Prompt != config.Prompt || len(got.Options) != 2 || string(got.UserData) != string(config.UserData) {
		t.Errorf("configuration passed on is %+v, %t, %v", got, saved, err)
	}
	if err := away.Reset(ctx, forwardedPoll); err != nil {
		t.Fatal(err)
	}
	if _, _, saved, err = here.Config(ctx, forwardedPoll); saved || err != nil {
		t.Errorf("after a reset passed on a configuration is there: %t, %v", saved, err)
	}
	if sent := o.sent; sent != 7 {
		t.Errorf("%d requests were passed on, want 7", sent)
	}
}

// The owner refuses what a strict poll refuses, in the words of the contract.
func TestStrictPollsRefuseForwardedCommands(t *testing.T) {
	away, _ := passing(t, storetest.NewMemory(), nil)
	config := voting.DefaultConfig()
	config.Strict, config.Prompt, config.Options = true, "Keep?", []string{"yes", "no"}
	if err := away.Configure(t.Context(), forwardedPoll, config); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[int64]string{voting.NoValue: "value is missing", 2: "value names no option of the poll", 1: ""} {
		_, err := away.Vote(t.Context(), forwardedPoll, voting.Voter{OpaqueID: "U1"}, value, 1)
		if err == nil && want == "" {
			continue
		}
		if err == nil || err.Error() != want {
			t.Errorf("%d: %v, want %q", value, err, want)
		}
	}
	config.Prompt = "Sell?"
	if err := away.Configure(t.Context(), forwardedPoll, config); fault.KindOf(err) != fault.Conflict {
		t.Errorf("another question: %v", err)
	}
	if _, _, err := away.Change(t.Context(), forwardedPoll, voting.Change{Config: config, KeepVotes: true}); err != nil {
		t.Errorf("another question with the votes: %v", err)
	}
}

// Votes that the owner has committed and whose answer is lost are acknowledged
// by the log and counted once, also when the request arrives again much later.
func TestVotesWhoseAnswerIsLostCountOnce(t *testing.T) {
	const voters = 40
	ctx := t.Context()
	store := storetest.NewMemory()
	away, o := passing(t, store, func(n int) bool { return n%2 == 0 })
	config := voting.Config{DistinctOptionsPerUser: 1, TotalVotesPerUser: 1000, VotesPerOption: 1000}
	if err := away.Configure(ctx, forwardedPoll, config); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range voters {
		all.Go(func() {
			for range 5 {
				if _, err := away.Vote(ctx, forwardedPoll, voting.Voter{OpaqueID: fmt.Sprint("U", i)}, 1, 2); err != nil {
					t.Errorf("vote: %v", err)
				}
			}
		})
	}
	all.Wait()
	if len(o.late) == 0 {
		t.Fatal("no answer was lost")
	}
	for _, request := range o.late {
		if err := o.service.Serve(ctx, request, func([]byte) {}); err != nil {
			t.Errorf("late request: %v", err)
		}
	}
	tally, err := o.service.Tally(ctx, forwardedPoll, voting.Voter{})
	if err != nil {
		t.Fatal(err)
	}
	if want := float64(1); tally.Mean() != want {
		t.Errorf("mean is %g, want %g", tally.Mean(), want)
	}
	records := 0
	for _, err := range o.service.Log(ctx, forwardedPoll, voting.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		records++
	}
	if want := voters * 5 * 2; records != want {
		t.Errorf("the log has %d votes, %d were acknowledged", records, want)
	}
}

// Nothing but malformed requests is an error, and none a panic.
func FuzzServe(f *testing.F) {
	var requests [][]byte
	store := storetest.NewMemory()
	record := recorder{service: voting.NewService(store, stream.SystemClock(), stream.Options{}), requests: &requests}
	away := voting.NewService(store, stream.SystemClock(), stream.Options{Peers: record})
	_, _ = away.Vote(context.Background(), forwardedPoll, voting.Voter{OpaqueID: "U1"}, 1, 1)
	_, _ = away.Tally(context.Background(), forwardedPoll, voting.Voter{OpaqueID: "U1"})
	_ = away.Configure(context.Background(), forwardedPoll, voting.Config{})
	_, _, _ = away.Change(context.Background(), forwardedPoll, voting.Change{Patch: json.RawMessage(`{"prompt":null,"userData":{"a":1}}`), IfMatch: &voting.Precondition{Any: true}})
	for _, request := range requests {
		f.Add(request)
	}
	f.Fuzz(func(t *testing.T, request []byte) {
		_ = record.service.Serve(t.Context(), request, func([]byte) {})
	})
}

type recorder struct {
	service  *voting.Service
	requests *[][]byte
}

func (r recorder) Owner(string) stream.Peer { return r }
func (r recorder) Contenders(string) int    { return 0 }
func (r recorder) ID() string               { return "recorder" }

func (r recorder) Send(ctx context.Context, request []byte, receive func(part []byte)) error {
	*r.requests = append(*r.requests, request)
	return r.service.Serve(ctx, request, receive)
}

// A process without tracing serves the requests of one that samples.
func TestTracesAreIgnoredWithoutTracing(t *testing.T) {
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	}))
	store := storetest.NewMemory()
	o := &owner{service: serviceOver(t, store)}
	traced := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(traced), sdktrace.WithSampler(sdktrace.AlwaysSample()))
	away := newService(t, store, stream.Options{Peers: o, Tracer: provider.Tracer("test")})
	tally, err := away.Vote(ctx, forwardedPoll, voting.Voter{OpaqueID: "U1"}, 1, 1)
	if err != nil || tally.Mean() != 1 {
		t.Errorf("the vote passed on: mean %g, %v", tally.Mean(), err)
	}
	if spans := traced.Ended(); len(spans) != 1 || spans[0].Name() != "forward" || len(spans[0].Events()) != 1 {
		t.Errorf("spans are %v", spans)
	}
	if o.sent != 1 {
		t.Errorf("%d requests were sent", o.sent)
	}
}
