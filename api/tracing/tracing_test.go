package tracing_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/acclaim-dev/acclaim/api/tracing"
)

const (
	foreignTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	foreignParent = "00-" + foreignTrace + "-00f067aa0ba902b7-01"
)

// open returns a Tracing with a sampler and variables of the environment, and its exporter.
func open(t *testing.T, sampler string, variables map[string]string) (*tracing.Tracing, *tracetest.InMemoryExporter) {
	t.Helper()
	t.Setenv("OTEL_TRACES_SAMPLER", sampler) // the SDK reads it
	exporter := tracetest.NewInMemoryExporter()
	p := tracing.Program{Service: "test", Logger: slog.New(slog.DiscardHandler)}
	spans := tracing.OpenWith(t.Context(), p, func(name string) string { return variables[name] }, exporter)
	t.Cleanup(func() { spans.Close(context.WithoutCancel(t.Context())) })
	return spans, exporter
}

// serve has a Tracing serve a request with a parent.
func serve(t *testing.T, spans *tracing.Tracing) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/vote?id=secret", nil)
	r.Header.Set("Traceparent", foreignParent)
	r.Header.Set("Tracestate", "viewer=U123")
	r.Header.Set("Baggage", "viewer=U123")
	_, span := spans.AcceptRequest(r, time.Now())
	tracing.EndRequest(span, r.Method, "/vote", 200)
	if err := spans.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A client of the public decides neither whether its request is sampled nor the id of the
// trace, by which samplers decide. Where the way to the program is trusted, it decides both.
func TestParents(t *testing.T) {
	for name, test := range map[string]struct {
		sampler        string
		variables      map[string]string
		spans          int
		linked, joined bool
	}{
		"a link by default":        {"parentbased_always_on", nil, 1, true, false},
		"no sampling by demand":    {"parentbased_always_off", nil, 0, false, false},
		"continued where trusted":  {"parentbased_always_off", map[string]string{"ACCLAIM_TRACE_PARENTS": "continue"}, 1, false, true},
		"a word that is not known": {"parentbased_always_on", map[string]string{"ACCLAIM_TRACE_PARENTS": "believe"}, 1, true, false},
		"without propagation":      {"parentbased_always_on", map[string]string{"OTEL_PROPAGATORS": "none", "ACCLAIM_TRACE_PARENTS": "continue"}, 1, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			spans, exporter := open(t, test.sampler, test.variables)
			serve(t, spans)
			got := exporter.GetSpans()
			if len(got) != test.spans {
				t.Fatalf("%d spans, want %d", len(got), test.spans)
			}
			for _, s := range got {
				if s.Name != "POST /vote" {
					t.Errorf("the span is called %q", s.Name)
				}
				joined := s.SpanContext.TraceID().String() == foreignTrace
				linked := len(s.Links) == 1 && s.Links[0].SpanContext.TraceID().String() == foreignTrace
				if joined != test.joined || linked != test.linked || s.SpanContext.TraceState().Len() > 0 {
					t.Errorf("joined: %t, linked: %t, state %q", joined, linked, s.SpanContext.TraceState())
				}
				if linked && s.Links[0].SpanContext.TraceState().Len() > 0 {
					t.Error("the link has the client's tracestate")
				}
			}
		})
	}
}

// Tracing is off unless an exporter is configured that the program has.
func TestOpen(t *testing.T) {
	for name, test := range map[string]struct {
		variables map[string]string
		on        bool
		warning   string
	}{
		"nothing":          {nil, false, ""},
		"an endpoint":      {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, true, ""},
		"one of traces":    {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, true, ""},
		"the default":      {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		"none":             {map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, false, ""},
		"disabled":         {map[string]string{"OTEL_SDK_DISABLED": "TRUE", "OTEL_TRACES_EXPORTER": "otlp"}, false, ""},
		"another exporter": {map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, "OTEL_TRACES_EXPORTER"},
		"gRPC":             {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, "OTEL_EXPORTER_OTLP_PROTOCOL"},
		"gRPC for others": {map[string]string{
			"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
		}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			p := tracing.Program{Service: "test", Logger: slog.New(slog.NewTextHandler(&log, nil))}
			spans := tracing.Open(t.Context(), p, func(name string) string { return test.variables[name] })
			spans.Close(t.Context())
			if on := spans != nil; on != test.on {
				t.Errorf("tracing is on: %t, want %t", on, test.on)
			}
			if !strings.Contains(log.String(), test.warning) || (test.warning == "") != (log.Len() == 0) {
				t.Errorf("log: %s", &log)
			}
		})
	}
}

// hangingExporter is a collector that takes nothing until its context ends.
type hangingExporter struct{ entered chan struct{} }

func (h hangingExporter) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
	select {
	case h.entered <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return errors.New("deadline exceeded")
}

func (hangingExporter) Shutdown(context.Context) error { return nil }

// A collector that hangs blocks no caller and holds a queue's worth of spans: what is more is
// dropped, counted and logged once. The end of the program does not wait for it for long.
func TestCollectorHangs(t *testing.T) {
	const limit = 64
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	var log bytes.Buffer
	variables := map[string]string{"OTEL_BSP_MAX_QUEUE_SIZE": "64"}
	p := tracing.Program{Service: "test", Logger: slog.New(slog.NewTextHandler(&log, nil))}
	exporter := hangingExporter{make(chan struct{}, 1)}
	spans := tracing.OpenWith(t.Context(), p, func(name string) string { return variables[name] }, exporter)
	for range 10 * limit {
		_, span := spans.Tracer().Start(t.Context(), "work")
		span.End()
	}
	<-exporter.entered
	if s := spans.Stats(); s.Waiting != limit || s.Limit != limit || s.Dropped != 9*limit || s.Exported != 0 {
		t.Errorf("statistics are %+v", s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	spans.Close(ctx)
	if n := strings.Count(log.String(), "spans are dropped"); n != 1 {
		t.Errorf("%d lines about dropped spans in\n%s", n, &log)
	}
}

// flakyExporter fails while failing is set.
type flakyExporter struct {
	*tracetest.InMemoryExporter
	failing bool
}

func (f *flakyExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if f.failing {
		return errors.New("connection refused")
	}
	return f.InMemoryExporter.ExportSpans(ctx, spans)
}

// Spans that the collector refuses are counted, and both ends of the outage are logged once.
func TestCollectorFails(t *testing.T) {
	var log bytes.Buffer
	exporter := &flakyExporter{tracetest.NewInMemoryExporter(), true}
	p := tracing.Program{Service: "test", Logger: slog.New(slog.NewTextHandler(&log, nil))}
	spans := tracing.OpenWith(t.Context(), p, func(string) string { return "" }, exporter)
	t.Cleanup(func() { spans.Close(context.WithoutCancel(t.Context())) })
	for i := range 4 {
		if i == 2 {
			exporter.failing = false
		}
		_, span := spans.Tracer().Start(t.Context(), "work")
		span.End()
		if err := spans.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if s := spans.Stats(); s.Waiting != 0 || s.Failed != 2 || s.Exported != 2 || s.Dropped != 0 {
		t.Errorf("statistics are %+v", s)
	}
	for _, line := range []string{"spans are lost", "takes spans again"} {
		if n := strings.Count(log.String(), line); n != 1 {
			t.Errorf("%d lines %q in\n%s", n, line, &log)
		}
	}
}

// roundTrip is a transport that answers by itself.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A request to another program carries its span, and the span nothing of the address but the
// host: paths and queries are often secrets.
func TestTransport(t *testing.T) {
	spans, exporter := open(t, "always_on", nil)
	var sent string
	answers := roundTrip(func(r *http.Request) (*http.Response, error) {
		sent = r.Header.Get("Traceparent")
		return &http.Response{StatusCode: http.StatusTeapot, Body: http.NoBody, Request: r}, nil
	})
	fails := roundTrip(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("dial https://host/secret: refused")
	})
	for _, next := range []http.RoundTripper{answers, fails} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", "https://host/secret?secret", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := spans.Transport(next, func(*http.Request) string { return "hook" }).RoundTrip(r)
		if err == nil {
			response.Body.Close()
		}
		if r.Header.Get("Traceparent") != "" {
			t.Error("the caller's request was changed")
		}
	}
	if err := spans.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := exporter.GetSpans()
	if len(got) != 2 || got[0].Name != "POST hook" || sent != "00-"+got[0].SpanContext.TraceID().String()+"-"+got[0].SpanContext.SpanID().String()+"-01" {
		t.Fatalf("spans are %v, the request had %q", got, sent)
	}
	for _, s := range got {
		text := s.Name + s.Status.Description
		for _, a := range s.Attributes {
			text += a.Value.String()
		}
		if s.Status.Code.String() != "Error" || strings.Contains(text, "secret") {
			t.Errorf("status %v, told %q", s.Status, text)
		}
	}
}
