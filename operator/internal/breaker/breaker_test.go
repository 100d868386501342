package breaker_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/operator/internal/breaker"
)

// servers are as many as are asked; those in silent do not answer.
type servers struct {
	silent map[string]bool
	asked  map[string]int
}

func (s *servers) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked[r.URL.Host]++
	if s.silent[r.URL.Host] {
		return nil, errors.New("no answer")
	}
	recorder := httptest.NewRecorder()
	recorder.WriteHeader(http.StatusInternalServerError)
	return recorder.Result(), nil
}

func TestTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &servers{silent: map[string]bool{"a": true}, asked: map[string]int{}}
		transport := breaker.NewTransport(s)
		ask := func(host string, times, wantReached int, wantAnswer bool) {
			t.Helper()
			before := s.asked[host]
			for range times {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/", nil)
				if err != nil {
					t.Fatal(err)
				}
				response, err := transport.RoundTrip(request)
				if (err == nil) != wantAnswer {
					t.Errorf("%s: error is %v", host, err)
				}
				if err == nil {
					response.Body.Close()
				}
			}
			if reached := s.asked[host] - before; reached != wantReached {
				t.Errorf("%s was reached by %d of %d requests, want %d", host, reached, times, wantReached)
			}
		}
		ask("a", 100, 5, false)
		ask("b", 100, 100, true) // a failure is an answer too
		<-time.After(6 * time.Second)
		ask("a", 100, 1, false)
		<-time.After(6 * time.Second)
		s.silent["a"] = false
		ask("a", 100, 100, true)
	})
}
