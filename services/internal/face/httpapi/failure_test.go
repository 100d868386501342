package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// broken is a voting service that fails: reads by panicking when panics is set,
// with err otherwise, its log after a number of records.
type broken struct {
	operation.TallyReader
	operation.VoteLogReader
	err     error
	panics  any
	records int
}

func (b broken) Tally(context.Context, voting.Poll, voting.Voter) (voting.Tally, error) {
	if b.panics != nil {
		panic(b.panics)
	}
	return voting.Tally{}, b.err
}

func (b broken) TallyWithDevices(ctx context.Context, p voting.Poll, v voting.Voter) (voting.Tally, error) {
	return b.Tally(ctx, p, v)
}

func (b broken) Log(context.Context, voting.Poll, voting.Cursor) iter.Seq2[voting.LogRecord, error] {
	return func(yield func(voting.LogRecord, error) bool) {
		for range b.records {
			if !yield(voting.LogRecord{Opaque: "U5"}, nil) {
				return
			}
		}
		yield(voting.LogRecord{}, b.err)
	}
}

func (b broken) into(c *apiSettings) { c.Voting.Tallies, c.Voting.Logs = b, b }

// Each kind of failure has one status; internal detail is logged, never sent.
func TestFailures(t *testing.T) {
	cause := errors.New("disk 7 at /var/db")
	for _, test := range []struct {
		err        error
		status     int
		reason     string
		retryAfter string
	}{
		{cause, 500, "Internal error", ""},
		{fault.Wrap(fault.Internal, cause, "secret"), 500, "Internal error", ""},
		{fault.Wrap(fault.Storage, cause, "secret"), 500, "Storage failed; nothing was stored", ""},
		{fault.Wrap(fault.Uncertain, cause, "secret"), 500, "Storage failed; the outcome is unknown", ""},
		{fault.Wrap(fault.Unavailable, cause, "secret"), 503, "The service cannot take this request now; nothing was stored", "1"},
		{fault.New(fault.Invalid, "No."), 400, "No.", ""},
		{fault.New(fault.NotFound, "None."), 404, "None.", ""},
		{fault.New(fault.Mismatch, "Other."), 412, "Other.", ""},
		{fault.New(fault.TooLarge, "Big."), 413, "Big.", ""},
	} {
		a := newAPI(t, broken{err: test.err}.into)
		got := a.as(viewer(), "GET", "/vote", "")
		got.refused(test.status, test.reason)
		if after := got.header.Get("Retry-After"); after != test.retryAfter {
			t.Errorf("%v: Retry-After is %q", test.err, after)
		}
		if errors.Is(test.err, cause) != strings.Contains(a.log.String(), "disk 7") {
			t.Errorf("%v: the log is %s", test.err, a.log)
		}
	}
}

// A request that fails because its client went away is no error of the server, in logs and
// in metrics. One that fails for another reason is, though its client went away too.
func TestClientThatWentAway(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, test := range []struct {
		name, path string
		ctx        context.Context
		kind       fault.Kind
		cause      error
		want       string
	}{
		{"while it waits", "/vote", gone, fault.Uncertain, context.Canceled, `"level":"INFO" "status":499`},
		{"while the log is read", "/vote_logs", gone, fault.Storage, context.Canceled, `"level":"INFO" "status":499`},
		{"before a failure", "/vote", gone, fault.Storage, errors.New("disk 7"), `"level":"ERROR" "status":500`},
		{"not at all", "/vote", t.Context(), fault.Storage, context.Canceled, `"level":"ERROR" "status":500`},
	} {
		a := newAPI(t, broken{err: fault.Wrap(test.kind, test.cause, "x")}.into)
		r := httptest.NewRequestWithContext(test.ctx, http.MethodGet, "/v1"+test.path, nil)
		r.Header.Set("Authorization", backend().header(t))
		a.handler.ServeHTTP(httptest.NewRecorder(), r)
		for part := range strings.FieldsSeq(test.want) {
			if !strings.Contains(a.log.String(), part) {
				t.Errorf("%s: no %s in %s", test.name, part, a.log)
			}
		}
	}
	// Whatever a route waits for ends with its client.
	a := newAPI(t)
	for _, route := range httpapi.Routes() {
		if route.Method != http.MethodGet || route.Path == "/events" {
			continue
		}
		r := httptest.NewRequestWithContext(gone, http.MethodGet, "/v1"+route.Path, nil)
		r.Header.Set("Authorization", owner().header(t))
		a.handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	if log := a.log.String(); strings.Contains(log, `"ERROR"`) || !strings.Contains(log, `"status":499`) {
		t.Error(log)
	}
}

func TestPanicIsAnswered(t *testing.T) {
	a := newAPI(t, broken{panics: "secret"}.into)
	a.as(viewer(), "GET", "/vote", "").refused(500, "Internal error")
	if log := a.log.String(); !strings.Contains(log, "secret") || !strings.Contains(log, "failure_test.go") {
		t.Errorf("the log does not say where and why: %s", log)
	}
}

// What fails before anything is sent is an error; what fails later cuts the
// connection, so that the client cannot mistake a part for the whole.
func TestStreamFailures(t *testing.T) {
	failure := fault.New(fault.Storage, "gone")
	for _, encoding := range []string{"identity", "gzip"} {
		for records, early := range map[int]bool{0: true, 10: true, 20_000: false} {
			server := httptest.NewServer(newAPI(t, broken{err: failure, records: records}.into).handler)
			r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/v1/vote_logs", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", backend().header(t))
			r.Header.Set("Accept-Encoding", encoding)
			response, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			if early != (err == nil) || early != (response.StatusCode == 500) || early != json.Valid(body) {
				t.Errorf("%s, %d records: %d with error %v and %d bytes", encoding, records, response.StatusCode, err, len(body))
			}
			response.Body.Close()
			server.Close()
		}
	}
}

// A long answer is written in small pieces, compressed for clients that ask.
func TestLongAnswers(t *testing.T) {
	a := newAPI(t)
	text := strings.Repeat("x", 60<<10)
	for range 8 {
		a.as(viewer(), "POST", "/accumulate", `{"a":"`+text+`"}`).is(200)
	}
	server := httptest.NewServer(a.handler)
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/v1/accumulate", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", backend().header(t))
	response, err := server.Client().Do(r) // the client asks for gzip and undoes it
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var page struct{ Data []json.RawMessage }
	if err := json.NewDecoder(bufio.NewReader(response.Body)).Decode(&page); err != nil || len(page.Data) != 8 {
		t.Errorf("%d entries, error %v", len(page.Data), err)
	}
	if !response.Uncompressed {
		t.Error("the answer was not compressed")
	}
}
