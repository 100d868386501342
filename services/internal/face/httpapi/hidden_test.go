package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Section 2.9: which callers see the results of a poll, in all its phases.
func TestHiddenResults(t *testing.T) {
	voted, stranger := bubbled(viewer()), bubbled(stranger())
	for visibility, shown := range map[string]map[string]string{ // to the viewer that voted, to the other
		"always":     {"open": "voted stranger", "disabled": "voted stranger", "closed": "voted stranger", "reopened": "voted stranger"},
		"afterVote":  {"open": "voted", "disabled": "voted", "closed": "voted stranger", "reopened": "voted"},
		"afterClose": {"open": "", "disabled": "", "closed": "voted stranger", "reopened": ""},
		"staff":      {"open": "", "disabled": "", "closed": "", "reopened": ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newAPI(t)
			configure := func(more string) {
				body := fmt.Sprintf(`{"config":{"resultsVisibility":%q%s}}`, visibility, more)
				a.as(bubbled(broadcaster()), "POST", "/vote_config", body).want(200, "{}")
			}
			check := func(phase string) {
				t.Helper()
				for name, who := range map[string]identity{"voted": voted, "stranger": stranger} {
					got := a.as(who, "GET", "/vote", "")
					sees := map[bool]string{true: "1", false: "0"}[contains(shown[phase], name)]
					hidden := map[bool]string{true: "", false: "true"}[contains(shown[phase], name)]
					if got.field("count") != sees || got.field("hidden") != hidden || name == "voted" && got.field("vote") != "3" {
						t.Errorf("%s, %s: %s reads %s", visibility, phase, name, got.body)
					}
				}
				for _, who := range []identity{broadcaster(), admin(), backend()} {
					if got := a.as(bubbled(who), "GET", "/vote", ""); got.field("count") != "1" || got.field("hidden") != "" {
						t.Errorf("%s, %s: the %s reads %s", visibility, phase, who.role, got.body)
					}
				}
			}
			configure("")
			got := a.as(voted, "POST", "/vote", `{"value":3}`).is(200)
			if sees := got.field("count") == "1" && got.field("hidden") == ""; sees != contains(shown["open"], "voted") || got.field("vote") != "3" {
				t.Errorf("%s: the vote is answered %s", visibility, got.body)
			}
			check("open")
			configure(`,"disabled":true`)
			check("disabled")
			configure(`,"endsAt":-1`)
			check("closed")
			configure("")
			check("reopened")
			configure(fmt.Sprintf(`,"endsAt":%d`, time.Now().Unix()+1))
			check("open")
			<-time.After(time.Second)
			check("closed")
		})
	}
}

func contains(list, name string) bool {
	for item := range strings.FieldsSeq(list) {
		if item == name {
			return true
		}
	}
	return false
}

// With showCount the count is shown, and nothing else.
func TestShowCount(t *testing.T) {
	a := newAPI(t)
	a.as(broadcaster(), "POST", "/vote_config", `{"config":{"resultsVisibility":"staff","showCount":true}}`).want(200, "{}")
	a.as(viewer(), "POST", "/vote", `{"value":3}`).is(200)
	zeros := "0" + strings.Repeat(",0", 31)
	a.as(stranger(), "GET", "/vote", "").want(200, `{"stddev":0,"mean":0,"sum":0,"specific":[`+zeros+`],"count":1,
		"decay":{"last_nudged":0,"val":0,"current_scale":0,"last_altered":0},"hidden":true}`)
}

// Staff that does not own the polls of all channels sees of them what a viewer does.
func TestHiddenResultsOfAllChannels(t *testing.T) {
	a := newAPI(t)
	a.as(backend(), "POST", "/vote_config", configOf("globalfinal", `{"resultsVisibility":"staff"}`)).is(200)
	a.as(backend(), "POST", "/rank_config?id=globalq", `{"blocked":["rude"]}`).is(200)
	a.as(viewer(), "POST", "/vote?id=globalfinal", `{"value":1}`).is(200)
	for who, owns := range map[identity]bool{broadcaster(): false, admin(): false, owner(): true, backend(): true} {
		shown, hidden := map[bool]string{true: "1", false: "0"}[owns], map[bool]string{false: "true", true: ""}[owns]
		if got := a.as(who, "GET", "/vote?id=globalfinal", "").is(200); got.field("count") != shown || got.field("hidden") != hidden {
			t.Errorf("%s %s reads %s", who.role, who.user, got.body)
		}
		past := a.as(who, "GET", fmt.Sprintf("/vote_history?id=globalfinal&from=%d&to=%d&step=60", time.Now().Unix()-60, time.Now().Unix()+60), "")
		if got := past.field("hidden"); (got == "true") != (hidden == "true") {
			t.Errorf("%s %s reads the history %s", who.role, who.user, past.body)
		}
		a.as(who, "GET", "/rank?id=globalq", "").is(200)
		a.as(who, "GET", "/rank?id=globalq&state=held", "").is(map[bool]int{true: 200, false: 403}[owns])
		if got := a.as(who, "GET", "/rank_config?id=globalq", "").is(200); strings.Contains(got.body, "rude") != owns {
			t.Errorf("%s %s reads %s", who.role, who.user, got.body)
		}
	}
}
