package httpapi_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ceiling"
)

// sink is a response writer that keeps nothing.
type sink struct{ header http.Header }

func (s sink) Header() http.Header         { return s.header }
func (s sink) Write(b []byte) (int, error) { return len(b), nil }
func (s sink) WriteHeader(int)             {}

// reusable is a request body that is read again for each request.
type reusable struct{ *bytes.Reader }

func (reusable) Close() error { return nil }

// BenchmarkPostVote measures the way of a vote through everything but its domain.
func BenchmarkPostVote(b *testing.B) {
	canned, err := ceiling.New(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for name, level := range map[string]slog.Level{"logged": slog.LevelInfo, "quiet": slog.LevelError} {
		b.Run(name, func(b *testing.B) {
			a := newAPI(b, func(c *apiSettings) {
				c.Voting = canned.Voting()
				c.Logger = telemetry.NewLogger(io.Discard, level)
			})
			body := reusable{bytes.NewReader([]byte(`{"value":3,"count":1}`))}
			r, err := http.NewRequestWithContext(b.Context(), "POST", "http://host/v1/e/vote?id=poll", body)
			if err != nil {
				b.Fatal(err)
			}
			r.ContentLength = body.Size()
			r.Header.Set("Authorization", viewer().header(b))
			r.Header.Set("Origin", "http://localhost:3000")
			b.ReportAllocs()
			for b.Loop() {
				body.Reset([]byte(`{"value":3,"count":1}`))
				a.handler.ServeHTTP(sink{http.Header{}}, r)
			}
		})
	}
}
