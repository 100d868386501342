package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// vote is a record of the log (section 2.3).
type vote struct {
	Identifier, Opaque string
	Value              int
	Timestamp          int64
}

// votes is a page of the log.
type votes struct {
	Result []vote
	Next   string
}

func (a answer) votes() (page votes) {
	a.t.Helper()
	decoder := json.NewDecoder(bytes.NewReader([]byte(a.is(200).body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&page); err != nil {
		a.t.Fatalf("%s: %v", a.name, err)
	}
	return page
}

// Section 2.3: the voter and the time, in the order of receipt; count: 3 is three
// records, a replaced vote keeps its own.
func TestVoteLogRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		begin := time.Now().Unix()
		a.as(aged(viewer()), "POST", "/vote", `{"value":-3}`).is(200)
		<-time.After(1900 * time.Millisecond)
		a.as(aged(stranger()), "POST", "/vote", `{}`).is(200)
		a.as(aged(viewer()), "POST", "/vote", `{"value":128}`).is(200)
		a.as(aged(viewer()), "POST", "/vote", `{"value":129}`).is(400)
		a.as(aged(backend()), "POST", "/vote_config", `{"config":{"totalVotesPerUser":3,"votesPerOption":3}}`).is(200)
		a.as(aged(identity{role: "backend", opaque: "ü", user: "8"}), "POST", "/vote", `{"value":1,"count":3}`).is(200)
		third := vote{"8", "ü", 1, begin + 1}
		want := []vote{{"5", "U5", -3, begin}, {"", "A7", 0, begin + 1}, {"5", "U5", 128, begin + 1}, third, third, third}
		if diff := cmp.Diff(votes{Result: want}, a.as(aged(backend()), "GET", "/vote_logs", "").votes()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// A reader that follows next meets every record once, whatever happens to the
// poll in between.
func TestVoteLogPagesWhileThePollChanges(t *testing.T) {
	a := newAPI(t)
	p := poll{a, "?id=global-p"}
	multi := `{"id":"global-p","config":{"totalVotesPerUser":1024,"votesPerOption":30,"distinctOptionsPerUser":258}}`
	a.as(backend(), "POST", "/vote_config", multi).is(200)
	var want, read []int
	add := func(value, count int) {
		t.Helper()
		p.as(viewer(), "POST", "/vote?id=global-p", fmt.Sprintf(`{"value":%d,"count":%d}`, value, count)).is(200)
		for range count {
			want = append(want, value)
		}
	}
	add(1, 2)
	add(2, 3)
	next := ""
	follow := func() {
		t.Helper()
		page := a.as(backend(), "GET", "/vote_logs?id=global-p&limit=2&after="+next, "").votes()
		for _, record := range page.Result {
			read = append(read, record.Value)
		}
		next = page.Next
	}
	follow()
	a.as(backend(), "DELETE", "/vote?id=global-p", "").is(200)
	follow()
	a.as(backend(), "POST", "/vote_config", multi).is(200)
	add(3, 1)
	add(4, 2)
	for next != "" {
		follow()
	}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("values (-want +read):\n%s", diff)
	}
	// Another channel's backend reads the same log of a global poll, not of others.
	elsewhere := identity{role: "backend", opaque: "B", channel: "88"}
	if all := a.as(elsewhere, "GET", "/vote_logs?id=global-p", "").votes(); len(all.Result) != len(want) {
		t.Errorf("%d records of a global poll from elsewhere, want %d", len(all.Result), len(want))
	}
	a.as(viewer(), "POST", "/vote", `{}`).is(200)
	a.as(elsewhere, "GET", "/vote_logs", "").want(200, `{"result":[]}`)
}

// pieces is a response writer that counts what it is given, and how.
type pieces struct {
	*httptest.ResponseRecorder
	largest, writes int
}

func (p *pieces) Write(b []byte) (int, error) {
	p.writes++
	p.largest = max(p.largest, len(b))
	return p.ResponseRecorder.Write(b)
}

// "The response is streamed, not built in memory": 30,000 records leave in small
// pieces and are complete.
func TestLongVoteLogsAreStreamed(t *testing.T) {
	a := newAPI(t)
	a.as(backend(), "POST", "/vote_config", `{"config":{"totalVotesPerUser":1024,"votesPerOption":1024,"distinctOptionsPerUser":1}}`).is(200)
	const voters, each = 100, 10 // requests of 30 votes
	done := make(chan answer)
	for n := range voters {
		header := identity{role: "viewer", opaque: fmt.Sprintf("U%d", n)}.header(t)
		go func() {
			var last answer
			for range each {
				last = a.send("POST", "/v1/vote", `{"value":7,"count":30}`, "Authorization", header)
			}
			done <- last
		}()
	}
	for range voters {
		(<-done).is(200)
	}
	w := &pieces{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/vote_logs", nil)
	r.Header.Set("Authorization", backend().header(t))
	a.handler.ServeHTTP(w, r)
	page := answer{t, "all logs", w.Code, w.Header(), w.Body.String()}.votes()
	if len(page.Result) != voters*each*30 || page.Next != "" {
		t.Errorf("%d records, next %q", len(page.Result), page.Next)
	}
	if w.largest > 64<<10 || w.writes < 20 {
		t.Errorf("%d bytes in %d pieces of up to %d", w.Body.Len(), w.writes, w.largest)
	}
	perVoter := map[string]int{}
	for _, record := range page.Result {
		perVoter[record.Opaque]++
	}
	for opaque, n := range perVoter {
		if n != each*30 {
			t.Errorf("%s has %d records, want %d", opaque, n, each*30)
		}
	}
	if got := a.as(viewer(), "GET", "/vote", ""); got.field("count") != "30000" || got.field("sum") != "210000" || got.field("stddev") != "0" {
		t.Errorf("statistics are %s", got.body)
	}
}

// Only a client that asks reads the configurations, in their place among the votes.
func TestVoteLogWithConfigurations(t *testing.T) {
	a := newAPI(t)
	save := func(body string) string {
		t.Helper()
		a.as(broadcaster(), "POST", "/vote_config", body).is(200)
		return a.as(viewer(), "GET", "/poll", "").field("version")
	}
	config := `{"userIDVoting":false,"distinctOptionsPerUser":1,"totalVotesPerUser":1,"votesPerOption":1,"global":false,"disabled":false,` +
		`"prompt":"%s?","options":["a","b"],"userData":null,"startsAt":0,"endsAt":0,"strict":true}`
	first := save(`{"config":{"strict":true,"prompt":"Keep?","options":["a","b"]}}`)
	a.as(viewer(), "POST", "/vote", `{"value":1}`).is(200)
	second := save(`{"config":{"strict":true,"prompt":"Sell?","options":["a","b"]},"keepVotes":true}`)

	read := func(query string) (records []map[string]json.RawMessage) {
		t.Helper()
		for after := ""; ; {
			var page struct {
				Result []map[string]json.RawMessage
				Next   string
			}
			body := a.as(backend(), "GET", "/vote_logs?limit=1&after="+after+query, "").is(200).body
			if err := json.Unmarshal([]byte(body), &page); err != nil {
				t.Fatal(err)
			}
			if records = append(records, page.Result...); page.Next == "" {
				return records
			}
			after = page.Next
		}
	}
	if got := read(""); len(got) != 1 || got[0]["config"] != nil {
		t.Errorf("without being asked: %s", got)
	}
	got := read("&configs=true")
	if len(got) != 3 || string(got[1]["value"]) != "1" {
		t.Fatalf("%s", got)
	}
	for n, want := range map[int][2]string{0: {fmt.Sprintf(config, "Keep"), first}, 2: {fmt.Sprintf(config, "Sell"), second}} {
		if string(got[n]["config"]) != want[0] || string(got[n]["version"]) != want[1] || len(got[n]["timestamp"]) != 10 {
			t.Errorf("record %d is %s, want %s", n, got[n], want)
		}
	}
	if history := a.as(viewer(), "GET", "/vote_history", "").is(200).body; !strings.Contains(history, `"version":`+second) {
		t.Errorf("the history has no version %s: %s", second, history)
	}
}
