package httpapi_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// listedVote has the viewer vote in the default poll, which lists its votes and is signed. It returns
// no query.
func listedVote(t *testing.T, a *api) string {
	t.Helper()
	a.as(owner(), http.MethodPost, "/vote_config", `{"config":{"verifiable":true}}`).is(http.StatusOK)
	a.as(viewer(), http.MethodPost, "/vote", `{"value":1}`).is(http.StatusOK)
	a.flush()
	return ""
}

// newVote has the viewer vote in a list that is signed, and the vote is not signed yet.
func newVote(t *testing.T, a *api) string {
	listedVote(t, a)
	a.as(viewer(), http.MethodPost, "/vote", `{"value":2}`).is(http.StatusOK)
	return ""
}

// closedList has the default poll be one that lists its votes and has ended.
func closedList(t *testing.T, a *api) string {
	listedVote(t, a)
	a.as(owner(), http.MethodPatch, "/vote_config", `{"config":{"endsAt":1}}`).is(http.StatusOK)
	a.flush()
	return keyedBody
}

// listFile returns the path of a file of the list of a closed poll.
func listFile(name string) func(*testing.T, *api) string {
	return func(t *testing.T, a *api) string {
		closedList(t, a)
		tree := strings.Trim(a.send(http.MethodGet, "/public/ext/77/default/result.json", "").is(http.StatusOK).field("tree"), `"`)
		return "/log/t/" + tree + "/" + name
	}
}

// askedInSandbox configures the default poll of the sandbox.
func askedInSandbox(t *testing.T, a *api) string {
	box := identity{role: "broadcaster", opaque: "U77", user: "77", key: sandboxKey}
	a.send(http.MethodPost, "/sandbox/v1/vote_config", `{"config":{}}`, "Authorization", box.header(t)).is(http.StatusOK)
	return `{"config":{"verifiable":true}}`
}

// promised has a vote in the default poll, whose list is public after the close, and returns a body that
// would keep it secret.
func promised(t *testing.T, a *api) string {
	listedVote(t, a)
	return `{"config":{"verifiable":true,"entries":"never"}}`
}

// servedSite reads the files of an API as a checker does.
type servedSite struct{ a *api }

// ReadFile implements [verifiable.Source].
func (s servedSite) ReadFile(_ context.Context, path string) ([]byte, error) {
	got := s.a.send(http.MethodGet, "/"+path, "")
	if got.status != http.StatusOK {
		return nil, fmt.Errorf("%w: %d %s", fs.ErrNotExist, got.status, got.body)
	}
	if got.header.Get("Access-Control-Allow-Origin") != "*" || !strings.HasPrefix(got.header.Get("Cache-Control"), "public") {
		return nil, fmt.Errorf("%s has the headers %v", path, got.header)
	}
	return []byte(got.body), nil
}

// A viewer votes with a nonce, gets a receipt and checks it with what the API serves to everyone.
func TestVoteIsChecked(t *testing.T) {
	a := newAPI(t)
	poll := verifiable.PollName{Client: "ext", Channel: "77", Poll: "lunch"}
	version := a.as(owner(), "POST", "/vote_config", configOf("lunch", `{"verifiable":true,"prompt":"Lunch?","options":["tea","cake"],"resultsVisibility":"afterClose","showCount":true}`)).is(200).header.Get("ETag")
	var nonce verifiable.Nonce
	_, _ = rand.Read(nonce[:])
	hash := verifiable.HashNonce(poll.Key(), nonce)
	body := fmt.Sprintf(`{"value":1,"version":%s,"nonceHash":"%s"}`, strings.Trim(version, `"`), base64.StdEncoding.EncodeToString(hash[:]))
	voted := a.as(viewer(), "POST", "/vote?id=lunch", body, "Idempotency-Key", "k").is(200)
	if again := a.as(viewer(), "POST", "/vote?id=lunch", body, "Idempotency-Key", "k").is(200); again.field("listed") != voted.field("listed") || voted.field("listed") == "" {
		t.Errorf("a repetition is listed at %s, the vote at %s", again.field("listed"), voted.field("listed"))
	}
	a.as(viewer(), "POST", "/vote?id=lunch", `{"nonceHash":"AA=="}`).refused(400, "Invalid body")
	a.flush()

	vkey := strings.TrimSpace(a.send("GET", "/log/vkeys", "").is(200).body)
	keys, err := verifiable.ParseKeys([]string{vkey})
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := verifiable.ParseReceipt([]byte(a.as(viewer(), "GET", "/receipt?id=lunch", "").is(200).body))
	if err != nil {
		t.Fatal(err)
	}
	receipt.Nonce = &nonce
	check := func() *verifiable.ReceiptReport {
		t.Helper()
		report, err := verifiable.VerifyReceipt(t.Context(), receipt.Text(), verifiable.ReceiptCheck{Keys: keys, Source: servedSite{a}})
		if err != nil || len(report.Findings) > 0 {
			t.Fatalf("%v, %+v", err, report)
		}
		return report
	}
	if report := check(); report.Recorded.Answer != verifiable.Yes || report.Counted.Answer != verifiable.Unknown || report.Question != "Lunch?" {
		t.Errorf("while the results are hidden: %+v", report)
	}
	if hidden := a.send("GET", "/public/ext/77/lunch/result.json", "").is(200); hidden.field("now") != "" {
		t.Errorf("a hidden result shows %s", hidden.body)
	}
	a.as(owner(), "PATCH", "/vote_config", configOf("lunch", `{"endsAt":1}`)).is(200)
	a.flush()
	a.skew.Add(int64(2e9)) // the result that was read is old
	if report := check(); report.Counted.Answer != verifiable.Yes {
		t.Errorf("after the end: %+v", report)
	}
	a.as(viewer(), "POST", "/vote?id=lunch", `{"value":0}`).refused(400, "poll is closed")
	a.as(stranger(), "GET", "/receipt?id=lunch", "").refused(404, "The caller has no vote in the list")
}

// Votes that a backend submits together are listed and signed as those of viewers are.
func TestVotesTogetherAreListed(t *testing.T) {
	a := newAPI(t)
	a.as(owner(), "POST", "/vote_config", configOf("lunch", `{"verifiable":true,"options":["tea","cake"],"strict":true}`)).is(200)
	a.flush()
	body := `{"votes":[{"opaque_user_id":"` + viewer().opaque + `","value":1,"nonceHash":"AAAAAAAAAAAAAAAAAAAAAA=="},{"opaque_user_id":"U9","value":7},{"opaque_user_id":"U9","value":0}]}`
	placed := regexp.MustCompile(`^\[{"accepted":true,"listed":{"tree":"[0-9a-f]{32}","index":2,"voter":2}},{"accepted":false,"reason":"[^"]+"},{"accepted":true,"listed":{"tree":"[0-9a-f]{32}","index":3,"voter":3}}\]$`)
	for range 2 { // the second is a repetition
		got := a.as(backend(), "POST", "/votes?id=lunch", body, "Idempotency-Key", "k").is(200).field("results")
		if !placed.MatchString(got) {
			t.Errorf("the results are %s", got)
		}
	}
	a.flush()
	a.as(viewer(), "GET", "/receipt?id=lunch", "").is(200)
}

// A file that needs entries which the log has not got any more says from where on it has them.
func TestPrunedEntries(t *testing.T) {
	var votes *voting.Service
	a := newAPI(t, func(c *apiSettings) { votes = c.Voting.Votes.(*voting.Service) })
	a.as(owner(), "POST", "/vote_config", `{"config":{"verifiable":true}}`).is(200)
	var listed struct{ Tree string }
	if err := json.Unmarshal([]byte(a.as(viewer(), "POST", "/vote", `{"value":1}`).is(200).field("listed")), &listed); err != nil {
		t.Fatal(err)
	}
	a.as(owner(), "DELETE", "/vote", "").is(200)
	a.flush()
	poll := voting.Poll{Environment: "production", Extension: "ext", Channel: "77", ID: "default"}
	if _, err := votes.Truncate(t.Context(), poll.Stream(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	got := a.send("GET", "/log/t/"+listed.Tree+"/tile/0/000.p/4", "")
	got.refused(404, "No such entries")
	if got.header.Get("acclaim-minimum") != "4" || !strings.Contains(got.header.Get("Access-Control-Expose-Headers"), "acclaim-minimum") {
		t.Errorf("the headers are %v", got.header)
	}
}

// The list of a live poll is public from the moment in which enough people have voted, and its result and
// its view say so; one that is never public is withheld after the close, too.
func TestEntriesArePublic(t *testing.T) {
	for entries, test := range map[string]struct {
		config           string
		first, open, end string // why entries are withheld after a vote, after two, and after the end
	}{
		"live":  {`{"verifiable":true,"entries":"live","minVoters":2}`, "small", "", ""},
		"close": {`{"verifiable":true,"minVoters":2}`, "small", "open", ""},
		"never": {`{"verifiable":true,"entries":"never","minVoters":2}`, "never", "never", "never"},
		"small": {`{"verifiable":true,"entries":"live","minVoters":3,"keepDays":2}`, "small", "small", "small"},
	} {
		t.Run(entries, func(t *testing.T) {
			a := newAPI(t)
			a.as(owner(), "POST", "/vote_config", configOf("lunch", test.config)).is(200)
			look := func(size int, want string) answer {
				t.Helper()
				a.flush()
				a.skew.Add(int64(2e9)) // the result that was read is old
				result := a.send("GET", "/public/ext/77/lunch/result.json", "").is(200)
				tree := strings.Trim(result.field("tree"), `"`)
				got := a.send("GET", fmt.Sprintf("/log/t/%s/tile/entries/000.p/%d", tree, size), "")
				if why := got.header.Get("acclaim-withheld"); why != want || (got.status == 200) != (want == "") {
					t.Errorf("%d entries: %d, withheld is %q, want %q", size, got.status, why, want)
				}
				return result
			}
			a.as(viewer(), "POST", "/vote?id=lunch", `{"value":1}`).is(200)
			look(3, test.first)
			a.as(stranger(), "POST", "/vote?id=lunch", `{"value":1}`).is(200)
			look(4, test.open)
			a.as(owner(), "PATCH", "/vote_config", configOf("lunch", `{"endsAt":1}`)).is(200)
			result := look(6, test.end)
			shown := map[string]string{"small": "never"}[entries]
			if shown == "" {
				shown = entries
			}
			if result.field("entries") != `"`+shown+`"` || result.field("keepUntil") == "0" || result.field("minimum") != "0" {
				t.Errorf("the result is %s", result.body)
			}
			poll := a.as(viewer(), "GET", "/poll?id=lunch", "").is(200)
			if set := strings.Contains(poll.body, `"minVoters":`); !set || strings.Contains(poll.body, `"keepDays":2`) != (entries == "small") {
				t.Errorf("the view is %s", poll.body)
			}
		})
	}
}
