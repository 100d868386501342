package httpapi_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ceiling"
	"github.com/acclaim-dev/acclaim/services/internal/testing/cputime"
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
	for name, kind := range map[string]operation.RequestLog{"all": operation.LogAll, "sampled": operation.LogSampled, "off": operation.LogOff} {
		b.Run(name, func(b *testing.B) {
			a := newAPI(b, func(c *apiSettings) {
				c.Voting = canned.Voting()
				c.Logger = telemetry.NewLogger(io.Discard, slog.LevelInfo)
				c.LogRequests = kind
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

// BenchmarkPostVotes is a request with 1,000 votes of new voters, through everything but the network
// and the disk. It reports the processor time of a request: a thousandth of it is that of a vote.
func BenchmarkPostVotes(b *testing.B) {
	const bodies, votes = 500, 1000
	a := newAPI(b, func(c *apiSettings) { c.Logger = telemetry.NewLogger(io.Discard, slog.LevelError) })
	all := make([][]byte, bodies)
	for i := range all {
		body := []byte(`{"votes":[`)
		for n := range votes {
			body = fmt.Appendf(body, `{"user_id":"%d","value":%d},`, 100_000_000+791*(i*votes+n), n%4)
		}
		all[i] = append(body[:len(body)-1], "]}"...)
	}
	r, err := http.NewRequestWithContext(b.Context(), "POST", "http://host/v1/e/votes?id=poll", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", backend().header(b))
	b.ReportAllocs()
	report := cputime.Measure(b)
	for i := 0; b.Loop(); i++ {
		body := reusable{bytes.NewReader(all[i%bodies])}
		r.Body, r.ContentLength = body, body.Size()
		a.handler.ServeHTTP(sink{http.Header{}}, r)
	}
	report()
}
