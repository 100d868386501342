package httpapi_test

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
)

// Each message reaches the subscribers that its target names, and no other: every pair
// of a subscriber and a target.
func TestTargets(t *testing.T) {
	a := newAPI(t)
	_, base := serve(t, a.handler)
	subscribers := map[string]identity{
		"U5 in 77":       viewer(),
		"U5 in 88":       {role: "viewer", channel: "88", opaque: "U5", user: "5"},
		"A7 in 77":       stranger(),
		"U6 in 77":       {role: "viewer", opaque: "U6", user: "6"},
		"no id in 77":    {role: "viewer", opaque: ""},
		"digits in 77":   {role: "viewer", opaque: "6"},
		"broadcaster 77": broadcaster(),
		"backend in 99":  {role: "backend", channel: "99", opaque: ""},
		"another's U5":   {extension: "other", key: otherKey, role: "viewer", opaque: "U5", user: "5"},
	}
	in77 := []string{"U5 in 77", "A7 in 77", "U6 in 77", "no id in 77", "digits in 77", "broadcaster 77"}
	in88, all := []string{"U5 in 88"}, append([]string{"U5 in 88", "backend in 99"}, in77...)
	messages := []struct {
		from   identity
		route  string
		target string // members of the body
		want   []string
	}{
		{broadcaster(), "/broadcast", ``, in77},
		{broadcaster(), "/broadcast", `"target":"broadcast",`, in77},
		{broadcaster(), "/broadcast", `"target":"whisper-U5",`, []string{"U5 in 77"}},
		{broadcaster(), "/broadcast", `"target":"whisper-5",`, []string{"U5 in 77"}},
		{broadcaster(), "/broadcast", `"target":"whisper-A7",`, []string{"A7 in 77"}},
		{broadcaster(), "/broadcast", `"target":"whisper-7",`, nil},
		{broadcaster(), "/broadcast", `"target":"whisper-6",`, []string{"U6 in 77", "digits in 77"}},
		{broadcaster(), "/broadcast", `"target":"whisper-U9",`, nil},
		{broadcaster(), "/broadcast", `"user_id":"77",`, in77},
		{broadcaster(), "/broadcast", `"user_id":"",`, in77},
		{admin(), "/broadcast", `"user_id":"88",`, in88},
		{backend(), "/broadcast", `"user_id":"88","target":"whisper-U5",`, in88},
		{backend(), "/broadcast", `"user_id":"88","target":"whisper-A7",`, nil},
		{owner(), "/extension_broadcast", ``, all},
		{owner(), "/extension_broadcast", `"target":"broadcast","user_id":"88",`, all},
		{backend(), "/extension_broadcast", `"target":"whisper-U5",`, []string{"U5 in 77", "U5 in 88"}},
		{backend(), "/extension_broadcast", `"target":"whisper-5",`, []string{"U5 in 77", "U5 in 88"}},
		{viewer(), "/whisper_self", `"target":"broadcast","user_id":7,`, []string{"U5 in 77"}},
	}
	streams := map[string]*bufio.Reader{}
	for name, who := range subscribers {
		streams[name] = bufio.NewReader(connect(t, func(p *http.Protocols) { p.SetHTTP1(true) }, base+"/v1/events", who.header(t)))
		until(t, streams[name], "id: ")
	}
	want := map[string][]string{}
	for i, m := range messages {
		a.as(m.from, http.MethodPost, m.route, fmt.Sprintf(`{%s"event":"m%02d","data":%d}`, m.target, i, i)).want(200, "{}")
		for _, name := range m.want {
			want[name] = append(want[name], fmt.Sprintf("m%02d", i))
		}
	}
	for _, from := range []identity{backend(), {extension: "other", key: otherKey, role: "backend"}} {
		a.as(from, http.MethodPost, "/extension_broadcast", `{"event":"end","data":0}`).is(200)
		for _, channel := range []string{"77", "88", "99"} {
			a.as(from, http.MethodPost, "/broadcast", `{"event":"end","data":0,"user_id":"`+channel+`"}`).is(200)
		}
	}
	for name, in := range streams {
		var got []string
		for ends := 0; ends < 2; { // of the channel's messages, and of the extension's
			target, data := strings.TrimSpace(until(t, in, "event: ")), until(t, in, "data: ")
			if strings.Contains(data, `ext:end"`) || strings.Contains(data, `other:end"`) {
				ends++
				continue
			}
			event := data[strings.Index(data, ":ext:")+5:][:3]
			got = append(got, event)
			if opaque := subscribers[name].opaque; strings.HasPrefix(target, "event: whisper-") && target != "event: whisper-"+opaque {
				t.Errorf("%s receives %s, %s", name, target, data)
			}
		}
		slices.Sort(got) // a channel's messages and the extension's have no common order
		if diff := cmp.Diff(want[name], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An invalid target is refused, never widened.
func TestRefusedTargets(t *testing.T) {
	a := newAPI(t)
	nowhere := identity{role: "backend", channel: "x"}
	for _, route := range []string{"/broadcast", "/extension_broadcast"} {
		for _, target := range []string{`""`, `"whisper-"`, `"whisper"`, `"Whisper-U5"`, `"global"`, `"viewer-5"`, `"broadcast "`, `"whisper-` + strings.Repeat("x", 257) + `"`} {
			a.as(owner(), "POST", route, `{"event":"default","data":1,"target":`+target+`}`).refused(400, "Invalid target")
		}
		for _, target := range []string{`null`, `1`, `["whisper-U5"]`, `true`} {
			a.as(owner(), "POST", route, `{"event":"default","data":1,"target":`+target+`}`).refused(400, "Invalid body")
		}
	}
	a.as(broadcaster(), "POST", "/broadcast", `{"event":"default","data":1,"user_id":"88"}`).refused(403, "The JWT role is not allowed to perform this operation.")
	a.as(nowhere, "POST", "/broadcast", `{"event":"default","data":1,"user_id":88}`).refused(400, "Invalid body")
	claims := nowhere.claims()
	delete(claims, "channel_id")
	without := "ext " + sign(t, jwt.SigningMethodHS256, claims, []byte(productionKey))
	a.send("POST", "/v1/broadcast", `{"event":"default","data":1}`, "Authorization", without).refused(400, "The JWT names no channel")
	a.send("POST", "/v1/broadcast", `{"event":"default","data":1,"user_id":"88"}`, "Authorization", without).is(200)
}

// Whatever is stored can be read by programs that stop at 64 levels or at doubles.
func TestLimitsOfStoredJSON(t *testing.T) {
	a := newAPI(t)
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	write := map[string]string{
		"POST /accumulate":              `{"a":%s}`,
		"POST /channel_state":           `{"a":%s}`,
		"PATCH /channel_state":          `{"a":%s}`,
		"POST /viewer_state":            `{"a":%s}`,
		"POST /config/channel":          `{"a":%s}`,
		"PATCH /viewer_state":           `[{"op":"add","path":"/a","value":%s}]`,
		"PATCH /extension_viewer_state": `{"5":{"a":%s}}`,
		"POST /vote_config":             `{"config":{"userData":{"a":%s}}}`,
		"POST /broadcast":               `{"event":"default","data":{"a":%s}}`,
		"POST /extension_broadcast":     `{"event":"default","data":{"a":%s}}`,
		"POST /whisper_self":            `{"event":"default","data":{"a":%s}}`,
	}
	for route, body := range write {
		method, path, _ := strings.Cut(route, " ")
		for value, reason := range map[string]string{
			nested(47):              "",
			nested(48):              "JSON must not be nested deeper than 48 levels",
			strings.Repeat("9", 41): "A number in JSON must have at most 40 characters",
			"1e309":                 "A number in JSON must be within the range of a double",
		} {
			got := a.as(owner(), method, path, fmt.Sprintf(body, value))
			if reason == "" {
				got.is(200)
			} else if got.status != 400 || !strings.Contains(got.body, reason) {
				t.Errorf("%s of %.20s: %d %s", route, value, got.status, got.body)
			}
		}
	}
	const long = "1234567890123456789012345678901234567890"
	a.as(owner(), "POST", "/channel_state", `{"a":`+long+`}`).is(200)
	if got := a.as(owner(), "GET", "/channel_state", ""); got.body != `{"a":`+long+`}` {
		t.Errorf("an integer became %s", got.body)
	}
	// A patch cannot nest what is stored any deeper either.
	a.as(owner(), "POST", "/channel_state", `{"a":`+nested(46)+`}`).is(200)
	a.as(owner(), "PATCH", "/channel_state", `[{"op":"copy","from":"","path":"/a/0"}]`).refused(400, "JSON must not be nested deeper than 48 levels")
}
