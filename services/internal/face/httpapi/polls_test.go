package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"
)

// Section 2.10: the poll is shown with all that its configuration has, and has a tag.
func TestPoll(t *testing.T) {
	a := newAPI(t)
	a.as(viewer(), "POST", "/vote?id=lunch", "{}").is(200)
	a.as(viewer(), "GET", "/poll?id=lunch", "").refused(404, "The poll has no configuration")
	a.as(broadcaster(), "POST", "/vote_config", `{"id":"lunch","config":{"prompt":"<why>?","options":["a","b"],"userData":{"k": "<"},"disabled":true}}`).is(200)
	got := a.as(viewer(), "GET", "/poll?id=lunch", "")
	got.want(200, `{"id":"lunch","prompt":"<why>?","options":["a","b"],"userData":{"k":"<"},"status":"active","disabled":true,"startsAt":0,"endsAt":0,
		"userIDVoting":false,"loggedInOnly":false,"distinctOptionsPerUser":1,"totalVotesPerUser":1,"votesPerOption":1,"global":false,
		"resultsVisibility":"always","showCount":false,"hidden":false,"version":`+got.field("version")+`}`)
	tag := got.header.Get("ETag")
	for _, match := range []string{tag, `"x", ` + tag, "W/" + tag, "*"} {
		if same := a.as(viewer(), "GET", "/poll?id=lunch", "", "If-None-Match", match).is(304); same.body != "" || same.header.Get("ETag") != tag {
			t.Errorf("%s: %q, tag %s", match, same.body, same.header.Get("ETag"))
		}
	}
	a.as(viewer(), "GET", "/poll?id=lunch", "", "If-None-Match", `"x"`).is(200)
	a.as(broadcaster(), "POST", "/vote_config", fmt.Sprintf(`{"id":"lunch","config":{"resultsVisibility":"afterClose","endsAt":%d}}`, time.Now().Unix()+9)).is(200)
	later := a.as(viewer(), "GET", "/poll?id=lunch", "", "If-None-Match", tag).is(200)
	if later.field("version") <= got.field("version") || later.field("hidden") != "true" || later.field("options") != "[]" {
		t.Errorf("later: %s", later.body)
	}
	a.as(broadcaster(), "DELETE", "/vote?id=lunch", "").is(200)
	a.as(viewer(), "GET", "/poll?id=lunch", "").is(404)
}

// pollPages returns the channels and ids of all pages of a list, and their number.
func pollPages(a *api, who identity, query string) (all []string, pages int) {
	a.t.Helper()
	for cursor := ""; ; pages++ {
		got := a.as(who, "GET", "/polls?"+query+"&cursor="+cursor, "").is(200)
		var page struct {
			Polls []struct{ Channel, ID, Status string }
			Next  string
		}
		if err := json.Unmarshal([]byte(got.body), &page); err != nil {
			a.t.Fatal(err)
		}
		for _, p := range page.Polls {
			all = append(all, p.Channel+"/"+p.ID)
		}
		if cursor = page.Next; cursor == "" {
			return all, pages + 1
		}
	}
}

// A list has the configured polls that its caller may name, each once, whatever the
// number of pages and of polls that viewers made up.
func TestPolls(t *testing.T) {
	a := newAPI(t)
	elsewhere := broadcaster()
	elsewhere.channel = "78"
	for i := range 5 {
		a.as(viewer(), "POST", fmt.Sprintf("/vote?id=made-up-%d", i), "{}").is(200)
	}
	for who, ids := range map[identity]map[string]string{
		broadcaster(): {"a": "{}", "b": `{"endsAt":1}`, "ä b": `{"startsAt":4000000000}`, "gone": "{}"},
		elsewhere:     {"a": "{}"},
		backend():     {"global-quiz": "{}"},
	} {
		for id, config := range ids {
			a.as(who, "POST", "/vote_config", configOf(id, config)).is(200)
		}
	}
	a.as(broadcaster(), "DELETE", "/vote?id=gone", "").is(200)
	for query, want := range map[string][]string{
		"":                  {"77/a", "77/b", "77/ä b", "/global-quiz"},
		"status=active":     {"77/a", "/global-quiz"},
		"status=expired":    {"77/b"},
		"status=pending":    {"77/ä b"},
		"prefix=%C3%A4+":    {"77/ä b"},
		"prefix=g":          {"/global-quiz"},
		"prefix=globalisms": nil,
		"channel=77":        {"77/a", "77/b", "77/ä b", "/global-quiz"},
	} {
		for _, limit := range []int{1, 2, 3, 4, 1000} {
			got, pages := pollPages(a, viewer(), fmt.Sprintf("%s&limit=%d", query, limit))
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) || pages > len(want)+1 {
				t.Errorf("%q by %d: %q in %d pages, want %q", query, limit, got, pages, want)
			}
		}
	}
	for _, who := range []identity{backend(), owner(), listed()} {
		if got, _ := pollPages(a, who, "channel=*&limit=2"); !slices.Equal(got, []string{"77/ä b", "77/a", "77/b", "78/a", "/global-quiz"}) {
			t.Errorf("the extension's: %q", got)
		}
		if got, _ := pollPages(a, who, "channel=78"); !slices.Equal(got, []string{"78/a", "/global-quiz"}) {
			t.Errorf("another channel's: %q", got)
		}
	}
	for _, who := range []identity{viewer(), broadcaster(), admin()} {
		a.as(who, "GET", "/polls?channel=78", "").is(403)
		a.as(who, "GET", "/polls?channel=*", "").is(403)
	}
}

// A page examines a bounded number of polls, and the pages together all of them.
func TestPollsAmongManyMadeUp(t *testing.T) {
	madeUp, named := 2500, 0
	a := newAPI(t, func(c *apiSettings) {
		names := c.PollLister
		c.PollLister = func(ctx context.Context, prefix, after string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				for i := range madeUp {
					name := fmt.Sprintf("%s%06d", prefix, i)
					if name <= after {
						continue
					}
					if named++; !yield(name, nil) {
						return
					}
				}
				names(ctx, prefix, after)(yield)
			}
		}
	})
	a.as(broadcaster(), "POST", "/vote_config", configOf("last", "{}")).is(200)
	if got, pages := pollPages(a, viewer(), "prefix=&limit=5"); !slices.Equal(got, []string{"77/last"}) || pages != 3 {
		t.Errorf("%q in %d pages", got, pages)
	}
	if named > 2*madeUp+3 { // those of the channel and of the extension; each page sees one more
		t.Errorf("%d names were read, some again on each page", named)
	}
	madeUp = 70_000
	if got, pages := pollPages(a, viewer(), "prefix=la"); !slices.Equal(got, []string{"77/last"}) || pages != 3 {
		t.Errorf("of those with a prefix %q in %d pages", got, pages)
	}
}
