package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/acclaim-dev/acclaim/api/tracing"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// sampleClient is the sample extension.
const sampleClient = "sample-extension"

// replica is a process over a shared database whose spans a test reads.
type replica struct {
	*Process
	name     string
	exporter *tracetest.InMemoryExporter
	tracing  *tracing.Tracing
}

// openReplica opens and runs a voting service over a database until the test ends.
func openReplica(t *testing.T, name, uri string, environment map[string]string) *replica {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	exporter := tracetest.NewInMemoryExporter()
	getenv := func(variable string) string { return environment[variable] }
	r := &replica{name: name, exporter: exporter}
	r.tracing = tracing.OpenWith(t.Context(), tracing.Program{Service: name, Logger: logger}, getenv, exporter)
	p, err := Open(t.Context(), Config{
		Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", PeerListen: "127.0.0.1:0",
		Store: StoreConfig{MongoDBURI: uri}, Extensions: "../../../../config/extensions.yaml", ShutdownTimeout: time.Minute,
		Services: Services(), Mounts: BothMounts()[:1],
		Logger: logger, Tracing: r.tracing,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Process = p
	running, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(running) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := p.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return r
}

// replicaSpan is a span and the replica that recorded it.
type replicaSpan struct {
	replica string
	tracetest.SpanStub
}

// spansOf returns the spans of a trace that have ended, of all replicas, by their start.
func spansOf(t *testing.T, id trace.TraceID, replicas ...*replica) (all []replicaSpan) {
	t.Helper()
	for _, r := range replicas {
		if err := r.tracing.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, s := range r.exporter.GetSpans() {
			if s.SpanContext.TraceID() == id {
				all = append(all, replicaSpan{r.name, s})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b replicaSpan) int { return a.StartTime.Compare(b.StartTime) })
	return all
}

// traceVote posts a vote to a replica as part of a sampled trace of the client's, and returns
// the id of the trace.
func (r *replica) traceVote(t *testing.T, poll, voter string) trace.TraceID {
	t.Helper()
	return r.tracePost(t, "/vote?id="+poll, `{"value":1}`, sandbox.Grant{Role: "viewer", OpaqueID: voter})
}

// tracePost posts a body to a replica as part of a sampled trace of the client's, and returns
// the id of the trace.
func (r *replica) tracePost(t *testing.T, path, body string, grant sandbox.Grant) trace.TraceID {
	t.Helper()
	var id trace.TraceID
	_, _ = rand.Read(id[:])
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.PublicAddress().String()+"/v1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	extension, _ := r.Registry().ByClientID(sampleClient)
	secret, _ := extension.SigningSecret(tenant.Production, time.Now())
	grant.ExtensionID, grant.Stage, grant.ChannelID = sampleClient, "production", "1"
	token, err := sandbox.IssueToken(grant, secret.Value, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", sampleClient+" "+token)
	request.Header.Set("Traceparent", "00-"+id.String()+"-00f067aa0ba902b7-01")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusMultipleChoices {
		t.Fatalf("%s is answered with %s", path, response.Status)
	}
	return id
}

// spansWait limits how long the last spans of a vote may take to end. The trace of a vote that
// had to take another way, on a machine that stands still for seconds, has fewer or more.
const spansWait = 10 * time.Second

// forwardedVote posts votes to a until b commits one for it, and returns the spans of the next
// vote for the same poll.
func forwardedVote(t *testing.T, a, b *replica) []replicaSpan {
	t.Helper()
	isForward := func(s replicaSpan) bool { return s.Name == "forward" }
	forwarded := 0
	for try := 0; try < 1000 && forwarded < 12; try++ {
		poll := fmt.Sprintf("poll-%d", try)
		if !slices.ContainsFunc(spansOf(t, a.traceVote(t, poll, "U-first"), a, b), isForward) {
			continue
		}
		forwarded++
		id := a.traceVote(t, poll, "U-second")
		for until := time.Now().Add(spansWait); time.Now().Before(until); { // those of a batch end after its answers
			if spans := spansOf(t, id, a, b); len(spans) == 7 {
				return spans
			}
		}
	}
	t.Fatalf("%d votes were forwarded, none with a whole trace", forwarded)
	return nil
}

// The trace of a vote that another replica commits is whole: from the route to the steps of
// the commit, across both replicas, without a word about who voted for what.
func TestTraceOfForwardedVote(t *testing.T) {
	uri := mongotest.Start(t)
	trusted := map[string]string{"ACCLAIM_TRACE_PARENTS": "continue"}
	a, b := openReplica(t, "replica a", uri, trusted), openReplica(t, "replica b", uri, nil)
	spans := forwardedVote(t, a, b)

	names := map[trace.SpanID]string{}
	for _, s := range spans {
		names[s.SpanContext.SpanID()] = s.Name
	}
	var got []string
	for _, s := range spans {
		got = append(got, fmt.Sprintf("%s: %s (%s) under %s", s.replica, s.Name, s.SpanKind, cmp.Or(names[s.Parent.SpanID()], s.Parent.SpanID().String())))
	}
	want := []string{
		"replica a: POST /vote (server) under 00f067aa0ba902b7",
		"replica a: forward (client) under POST /vote",
		"replica b: serve forwarded (server) under forward",
		"replica b: queue (internal) under serve forwarded",
		"replica b: decide (internal) under serve forwarded",
		"replica b: append (internal) under serve forwarded",
		"replica b: apply (internal) under serve forwarded",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	for _, s := range spans {
		checkPrivacy(t, s)
	}
	checkExemplar(t, a, spans[0].SpanContext.TraceID())
	if *update {
		drawTrace(t, "../../../docs/forwarded-vote.svg", spans)
	}
}

// The trace of a request that changes a document shows the steps of the change.
func TestTraceOfDocument(t *testing.T) {
	r := openReplica(t, "replica", mongotest.Start(t), map[string]string{"ACCLAIM_TRACE_PARENTS": "continue"})
	id := r.tracePost(t, "/channel_state", `{"score":1}`, sandbox.Grant{Role: "backend", OpaqueID: "U-first"})
	want := []string{"POST /channel_state", "queue", "read", "decide", "write"}
	var got []string
	for until := time.Now().Add(spansWait); time.Now().Before(until) && len(got) < len(want); { // those of a batch end after its answers
		got = nil
		for _, s := range spansOf(t, id, r) {
			got = append(got, s.Name)
			checkPrivacy(t, s)
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// checkExemplar fails if a scraper that accepts OpenMetrics does not find the trace.
func checkExemplar(t *testing.T, r *replica, id trace.TraceID) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.AdminAddress().String()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `# {trace_id="`+id.String()+`"}`) {
		t.Error("the trace is no exemplar")
	}
}

// checkPrivacy fails if a span names a viewer, a channel or a poll.
func checkPrivacy(t *testing.T, s replicaSpan) {
	t.Helper()
	text := s.Name + s.Status.Description
	for _, attribute := range append(s.Attributes, s.InstrumentationScope.Attributes.ToSlice()...) {
		text += fmt.Sprintf(" %s=%s", attribute.Key, attribute.Value.String())
	}
	for _, secret := range []string{"U-", "poll-", "U-second", "127.0.0.1"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s tells %q", text, secret)
		}
	}
}
