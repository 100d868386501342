package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// accumulated holds the fields of a page that these tests read.
type accumulated struct {
	Data   []struct{ Data json.RawMessage }
	Latest int64
}

func TestAccumulate(t *testing.T) {
	a := newAPI(t)
	a.as(backend(), "GET", "/accumulate", "").want(200, `{"data":[],"latest":0}`)
	a.as(viewer(), "POST", "/accumulate", ` { "a" : "<é>" , "b":1.50 } `).want(200, "{}")
	got := a.as(backend(), "GET", "/accumulate?id=", "").is(200)
	observed := got.field("latest")
	got.want(200, `{"data":[{"observed":`+observed+`,"channel_id":"77","opaque_user_id":"U5","user_id":"5","data":{"a":"<é>","b":1.5}}],"latest":`+observed+`}`)
	a.as(backend(), "GET", "/accumulate?start="+observed, "").want(200, `{"data":[],"latest":0}`)
	a.as(backend(), "GET", "/accumulate?id=other", "").want(200, `{"data":[],"latest":0}`)

	a.as(stranger(), "POST", "/accumulate", `{}`).want(200, "{}")
	after := a.as(backend(), "GET", "/accumulate?start="+observed, "").is(200)
	latest := after.field("latest")
	after.want(200, `{"data":[{"observed":`+latest+`,"channel_id":"77","opaque_user_id":"A7","user_id":"","data":{}}],"latest":`+latest+`}`)
}

// A deleted buffer begins again: readers with old cursors see exactly the later entries.
func TestDeleteAccumulate(t *testing.T) {
	a := newAPI(t)
	read := func(query string) string { return a.as(backend(), "GET", "/accumulate?id="+query, "").is(200).body }
	a.as(backend(), "DELETE", "/accumulate?id=b", "").want(200, "{}")
	a.as(viewer(), "POST", "/accumulate?id=b", `{"n":1}`).is(200)
	a.as(viewer(), "POST", "/accumulate?id=other", `{"n":2}`).is(200)
	cursor := a.as(backend(), "GET", "/accumulate?id=b", "").field("latest")
	before, other := read("b"), read("other")
	a.as(broadcaster(), "DELETE", "/accumulate?id=b", "").refused(403, "The JWT role is not allowed to perform this operation.")
	if after := read("b"); after != before {
		t.Errorf("a refused deletion leaves %s", after)
	}
	for range 2 {
		a.as(owner(), "DELETE", "/accumulate?id=b", "").want(200, "{}")
		a.as(backend(), "GET", "/accumulate?id=b", "").want(200, `{"data":[],"latest":0}`)
	}
	a.as(viewer(), "POST", "/accumulate?id=b", `{"n":3}`).is(200)
	if whole := read("b"); strings.Contains(whole, `{"n":1}`) || !strings.Contains(whole, `{"n":3}`) || whole != read("b&start="+cursor) {
		t.Errorf("after the deletion: %s and %s", whole, read("b&start="+cursor))
	}
	if after := read("other"); after != other {
		t.Errorf("the other buffer has %s", after)
	}
}

// A broadcaster reads its own channel, the extension's staff all of them.
func TestAccumulateChannels(t *testing.T) {
	a := newAPI(t)
	for _, channel := range []string{"77", "88", "77"} {
		a.as(identity{role: "viewer", opaque: "U1", channel: channel}, "POST", "/accumulate", `{"channel":"`+channel+`"}`).is(200)
	}
	here, there := broadcaster(), broadcaster()
	there.channel = "88"
	for who, want := range map[identity]string{here: "77 77", there: "88", admin(): "77 88 77", backend(): "77 88 77"} {
		var got accumulated
		if err := json.Unmarshal([]byte(a.as(who, "GET", "/accumulate", "").is(200).body), &got); err != nil {
			t.Fatal(err)
		}
		var channels []string
		for _, entry := range got.Data {
			var data struct{ Channel string }
			if err := json.Unmarshal(entry.Data, &data); err != nil {
				t.Fatal(err)
			}
			channels = append(channels, data.Channel)
		}
		if diff := cmp.Diff(want, strings.Join(channels, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", who.role, diff)
		}
	}
}

// Polling with latest as the next start reads every entry once.
func TestAccumulatePolling(t *testing.T) {
	a := newAPI(t)
	start, read := int64(0), 0
	for n := range 20 {
		a.as(viewer(), "POST", "/accumulate", fmt.Sprintf(`{"n":%d}`, n)).is(200)
		if n%3 != 0 {
			continue
		}
		var page accumulated
		if err := json.Unmarshal([]byte(a.as(backend(), "GET", fmt.Sprintf("/accumulate?start=%d", start), "").body), &page); err != nil {
			t.Fatal(err)
		}
		for _, entry := range page.Data {
			if want := fmt.Sprintf(`{"n":%d}`, read); string(entry.Data) != want {
				t.Errorf("entry %s, want %s", entry.Data, want)
			}
			read++
		}
		start = page.Latest
	}
	if read != 19 {
		t.Errorf("read %d entries, want 19", read)
	}
}

func TestAccumulateRefusals(t *testing.T) {
	a := newAPI(t)
	for _, body := range []string{``, `x`, `null`, `5`, `"a"`, `[]`, `[{}]`, `{}x`, `{}{}`, `{"a":1`, `{"a":}`, "{\"a\":\"\xff\"}", strings.Repeat(`{"a":`, 11_000)} {
		a.as(viewer(), "POST", "/accumulate", body).refused(400, "Malformed json body")
	}
	for _, start := range []string{"x", "1.5", "1e3", "0x1", "9223372036854775808", "1%20", "--1"} {
		a.as(backend(), "GET", "/accumulate?start="+start, "").refused(400, "Malformed start parameter")
	}
	a.as(backend(), "GET", "/accumulate?start=-5", "").is(200)
}

func TestAccumulateSizes(t *testing.T) {
	a := newAPI(t)
	entry := func(size int) string { return `{"a":"` + strings.Repeat("x", size-8) + `"}` }
	a.as(viewer(), "POST", "/accumulate", entry(64<<10)).want(200, "{}")
	a.as(viewer(), "POST", "/accumulate", entry(64<<10)+strings.Repeat(" ", 100<<10)).want(200, "{}")
	a.as(viewer(), "POST", "/accumulate", entry(64<<10+1)).is(413)
	a.as(viewer(), "POST", "/accumulate", strings.Repeat("x", 64<<10+1)).is(413)
	a.as(viewer(), "POST", "/accumulate", entry(256<<10+1)).is(413)
	a.as(viewer(), "POST", "/accumulate", "{}"+strings.Repeat(" ", 256<<10)).is(413)
}
