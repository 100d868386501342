package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/ranking"
)

// answers are given by viewers, each by another one.
func (a *api) answers(path string, keys ...string) {
	a.t.Helper()
	for i, key := range keys {
		a.as(identity{role: "viewer", opaque: fmt.Sprint("U9", i)}, "POST", path, `{"key":"`+key+`"}`).is(200)
	}
}

// manyDecisions makes staff decide about as many answers as it may.
func manyDecisions(t *testing.T, a *api) string {
	t.Helper()
	for i := range 5000 {
		a.as(owner(), "POST", "/rank_moderation", fmt.Sprintf(`{"action":"merge","key":"k%d","into":"i%d"}`, i, i)).is(200)
	}
	return `{"action":"show","key":"one more"}`
}

// Answers that differ in case, form and blanks are one, under the commonest spelling.
func TestRankNormalization(t *testing.T) {
	a := newAPI(t)
	a.as(viewer(), "GET", "/rank_config", "").refused(404, "The question has no configuration")
	a.as(broadcaster(), "POST", "/rank_config", `{"normalization":"nfkc"}`).want(200, "{}")
	a.answers("/rank", "Zelda", "Zelda", " ZELDA ", "zelda", "\\u202emario", "ｍario", "日本")
	a.as(backend(), "GET", "/rank", "").want(200, `{"data":[{"key":"Zelda","score":4,"group":"zelda"},{"key":"mario","score":2},{"key":"日本","score":1}]}`)
	for i := range 3 { // now others are the commonest
		a.as(identity{role: "viewer", opaque: fmt.Sprint("U8", i)}, "POST", "/rank", `{"key":"ZELDA"}`).want(200, `{"accepted":true}`)
	}
	a.as(identity{role: "viewer", opaque: "U80"}, "POST", "/rank", `{"key":"zelda"}`).want(200, `{"accepted":true,"original":"ZELDA"}`)
	a.as(backend(), "GET", "/rank?limit=1", "").want(200, `{"data":[{"key":"ZELDA","score":7,"group":"zelda"}]}`)
	a.as(viewer(), "POST", "/rank", `{"key":"\u200b \u202e"}`).want(200, `{"accepted":false,"reason":"The answer is too short"}`)
	a.as(viewer(), "POST", "/rank", `{"key":"`+strings.Repeat("ﷺ", 10)+`"}`).want(200, `{"accepted":false,"reason":"The answer is too long"}`)
}

func TestRankConfig(t *testing.T) {
	a := newAPI(t)
	a.as(broadcaster(), "POST", "/rank_config", `{"minLength":2,"maxLength":5,"blocked":["darn","*heck*"],"answersPerViewer":2}`).want(200, "{}")
	const shown = `{"normalization":"none","minLength":2,"maxLength":5,"answersPerViewer":2,"startsAt":0,"endsAt":0,"holdAnswers":false,`
	a.as(viewer(), "GET", "/rank_config", "").want(200, shown+`"status":"active"}`)
	a.as(broadcaster(), "GET", "/rank_config", "").want(200, shown+`"blocked":["darn","*heck*"],"status":"active"}`)
	for _, answer := range []struct{ key, want string }{
		{"é", `{"accepted":false,"reason":"The answer is too short"}`},
		{"éèêëaà", `{"accepted":false,"reason":"The answer is too long"}`},
		{strings.Repeat("a", 257), `{"accepted":false}`},
		{"Darn!", `{"accepted":false,"reason":"The answer is not allowed"}`},
		{"hecks", `{"accepted":false,"reason":"The answer is not allowed"}`},
		{"darns", `{"accepted":true}`},
		{"two", `{"accepted":true}`},
		{"two", `{"accepted":true,"original":"two"}`},
		{"three", `{"accepted":true,"original":"darns"}`},
		{"Two", `{"accepted":true,"original":"two"}`},
	} {
		a.as(viewer(), "POST", "/rank", `{"key":"`+answer.key+`"}`).want(200, answer.want)
	}
	a.as(backend(), "GET", "/rank", "").want(200, `{"data":[{"key":"Two","score":1},{"key":"three","score":1}]}`)
	a.as(broadcaster(), "DELETE", "/rank", "").want(200, "{}")
	a.as(backend(), "GET", "/rank", "").want(200, `{"data":[]}`)
	a.as(viewer(), "GET", "/rank_config", "").want(200, shown+`"status":"active"}`)

	a.as(broadcaster(), "POST", "/rank_config", `{"endsAt":-1}`).want(200, "{}")
	a.as(viewer(), "POST", "/rank", `{"key":"tea"}`).want(200, `{"accepted":false,"reason":"The question is closed"}`)
	a.as(broadcaster(), "POST", "/rank_config", `{"startsAt":9999999998,"endsAt":9999999999}`).want(200, "{}")
	a.as(viewer(), "POST", "/rank", `{"key":"tea"}`).want(200, `{"accepted":false,"reason":"The question is closed"}`)
	a.as(backend(), "GET", "/rank", "").want(200, `{"data":[],"startsAt":9999999998,"endsAt":9999999999}`)
	a.as(broadcaster(), "POST", "/rank_config", `{}`).want(200, "{}")
	a.as(viewer(), "POST", "/rank", `{"key":"tea"}`).want(200, `{"accepted":true}`)
}

// What staff decides holds for answers before and after it, and keeps nothing back from
// the viewer but the ranking.
func TestRankModeration(t *testing.T) {
	a := newAPI(t)
	moderate := func(body string) {
		a.t.Helper()
		a.as(broadcaster(), "POST", "/rank_moderation?id=q", body).want(200, "{}")
	}
	list := func(state, want string) {
		t.Helper()
		a.as(broadcaster(), "GET", "/rank?id=q&state="+state, "").want(200, `{"data":[`+want+`]}`)
	}
	a.as(broadcaster(), "POST", "/rank_config?id=q", `{"normalization":"nfkc","holdAnswers":true}`).want(200, "{}")
	a.as(viewer(), "POST", "/rank?id=q", `{"key":"Tea"}`).want(200, `{"accepted":true,"held":true}`)
	a.answers("/rank?id=q", "tea", "mate", "Te", "rude")
	list("visible", ``)
	list("held", `{"key":"Tea","score":2,"group":"tea"},{"key":"mate","score":1},{"key":"rude","score":1},{"key":"Te","score":1,"group":"te"}`)
	moderate(`{"action":"show","key":"TEA"}`)
	moderate(`{"action":"hide","key":"rude"}`)
	moderate(`{"action":"merge","key":"te","into":"tea"}`)
	list("visible", `{"key":"Tea","score":3,"group":"tea"}`)
	list("held", `{"key":"mate","score":1}`)
	const by = `"actor":{"role":"broadcaster","id":"77"}`
	list("hidden", `{"key":"rude","score":1,`+by+`}`)
	a.as(backend(), "POST", "/rank_moderation?id=q", `{"action":"hide","key":"rude"}`).want(200, "{}") // has no effect
	a.as(viewer(), "POST", "/rank?id=q", `{"key":"RUDE"}`).want(200, `{"accepted":true,"original":"Tea"}`)
	list("hidden", `{"key":"RUDE","score":2,"group":"rude",`+by+`}`)
	a.as(broadcaster(), "POST", "/rank_moderation?id=q", `{"action":"merge","key":"tea","into":"te"}`).refused(400, "An answer cannot be merged with itself")
	moderate(`{"action":"show","key":"te"}`)
	moderate(`{"action":"merge","key":"rude","into":"mate"}`)
	list("visible", `{"key":"mate","score":3},{"key":"Te","score":1,"group":"te"},{"key":"tea","score":1}`)
	list("hidden", ``)
	a.as(broadcaster(), "POST", "/rank_config?id=q", `{"normalization":"nfkc"}`).want(200, "{}")
	a.as(viewer(), "POST", "/rank?id=q", `{"key":"new"}`).want(200, `{"accepted":true,"original":"RUDE"}`)
	list("visible", `{"key":"mate","score":2},{"key":"new","score":1},{"key":"Te","score":1,"group":"te"},{"key":"tea","score":1}`)
	a.as(broadcaster(), "DELETE", "/rank?id=q", "").want(200, "{}")
	a.answers("/rank?id=q", "rude")
	list("visible", `{"key":"rude","score":1}`)
}

// What waits for staff, or staff has hidden, is on no route and in no event of a viewer or of
// an overlay: a viewer sees its own answer, in the answer to its POST.
func TestHeldAnswersStayWithStaff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		staff := bubbled(broadcaster())
		overlay := a.newOverlay("/v1", staff, `{"questions":["q"]}`)
		public := map[string]string{"a viewer": bubbled(viewer()).header(t), "an overlay": overlay}
		ears := map[string]*eventClient{}
		for name, credential := range public {
			ears[name] = a.subscribe(t, "/v1/events", "Authorization", credential)
		}
		a.as(staff, "POST", "/rank_config?id=q", `{"normalization":"nfkc","holdAnswers":true}`).is(200)
		for i, key := range []string{"Shown", "secret-held", "secret-hidden", "secret-merged"} {
			a.as(bubbled(identity{role: "viewer", opaque: fmt.Sprint("U9", i)}), "POST", "/rank?id=q", `{"key":"`+key+`"}`).is(200)
		}
		for _, body := range []string{`"show","key":"shown"`, `"hide","key":"secret-hidden"`, `"merge","key":"secret-merged","into":"shown"`} {
			a.as(staff, "POST", "/rank_moderation?id=q", `{"action":`+body+`}`).is(200)
		}
		<-time.After(2 * time.Second)
		if got := a.as(staff, "GET", "/rank?id=q&state=held", ""); !strings.Contains(got.body, "secret-held") {
			t.Errorf("staff reads %s", got.body)
		}
		for name, credential := range public {
			if told := ears[name].read(); strings.Contains(told, "secret") || strings.Contains(told, "actor") || name == "an overlay" && !strings.Contains(told, "Shown") {
				t.Errorf("%s receives %s", name, told)
			}
			for _, route := range httpapi.Routes() {
				for _, state := range []string{"", "visible", "held", "hidden"} {
					if route.Method != http.MethodGet || route.Path == "/events" {
						continue
					}
					got := a.send("GET", "/v1"+route.Path+"?id=q&state="+state, "", "Authorization", credential)
					if strings.Contains(got.body, "secret") || strings.Contains(got.body, `"actor"`) {
						t.Errorf("%s reads %s", name, got.body)
					}
				}
			}
		}
	})
}

// A repetition with a key is not judged again, and a refusal is not kept.
func TestRankConfigAndKeys(t *testing.T) {
	a := newAPI(t)
	send := func(key, body, want string) {
		t.Helper()
		a.send("POST", "/v1/rank", body, "Authorization", viewer().header(t), "Idempotency-Key", key).want(200, want)
	}
	a.as(broadcaster(), "POST", "/rank_config", `{"minLength":3}`).is(200)
	send("1", `{"key":"ab"}`, `{"accepted":false,"reason":"The answer is too short"}`)
	send("2", `{"key":"abc"}`, `{"accepted":true}`)
	a.as(broadcaster(), "POST", "/rank_config", `{"endsAt":-1}`).is(200)
	send("2", `{"key":"abc"}`, `{"accepted":true,"original":"abc"}`)
	a.as(broadcaster(), "POST", "/rank_config", `{}`).is(200)
	send("1", `{"key":"ab"}`, `{"accepted":true,"original":"abc"}`)
}

// Truncation keeps what a question shows, and what it accepts.
func TestRankConfigOutlivesTheLog(t *testing.T) {
	var questions *ranking.Service
	a := newAPI(t, func(c *apiSettings) { questions = c.Ranking.Answers.(*ranking.Service) })
	a.as(broadcaster(), "POST", "/rank_config", `{"normalization":"nfkc","answersPerViewer":2,"holdAnswers":true}`).is(200)
	a.answers("/rank", "Tea", "tea", "mate", "rude", "waits")
	for _, body := range []string{`{"action":"hide","key":"rude"}`, `{"action":"show","key":"mate"}`, `{"action":"merge","key":"tea","into":"mate"}`} {
		a.as(broadcaster(), "POST", "/rank_moderation", body).is(200)
	}
	read := func() (all string) {
		for _, path := range []string{"/rank", "/rank?state=held", "/rank?state=hidden", "/rank_config"} {
			all += a.as(broadcaster(), "GET", path, "").is(200).body
		}
		return all
	}
	before := read()
	q := ranking.Question{Environment: "production", Extension: "ext", Channel: "77", ID: "default"}
	if got, err := questions.Truncate(t.Context(), q.Stream(), time.Now().Add(time.Hour)); err != nil || got.Chunks == 0 {
		t.Fatal(got, err)
	}
	if _, err := questions.Erase(t.Context(), q.Stream(), rewrite.Viewer{IDs: []string{"U90"}}); err != nil {
		t.Fatal(err)
	}
	if after := read(); after != before {
		t.Errorf("%s\nwas\n%s", after, before)
	}
}
