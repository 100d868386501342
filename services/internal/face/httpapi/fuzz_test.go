package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzRequest sends anything to any path as anyone: the answer is JSON and
// never a failure of ours.
func FuzzRequest(f *testing.F) {
	for _, seed := range []struct{ method, path, query, header, body string }{
		{"POST", "vote", "id=a", "", `{"value":1,"count":1}`},
		{"POST", "vote", "id=%zz&&;=", "Origin", `{"value":-1e-999999999}`},
		{"POST", "votes", "", "", ` { "votes" : [ {"user\u005fid":"5\u0022","value":1e0,"x":[{"a":"]"},-1.5e+3,null]} , {"opaque_user_id":"U5"} ] } `},
		{"GET", "vote", "id=\x00\xff", "X-Request-Id", "\x00"},
		{"DELETE", "vote", "", "If-Match", ""},
		{"POST", "vote_modifier", "", "", `{"user":"U5","add":1e30}`},
		{"POST", "vote_config", "", "", `{"id":"a","config":{"options":["a"],"userData":{"a":1e999},"startsAt":1e18,"endsAt":-1}}`},
		{"GET", "vote_config", "", "", ""},
		{"GET", "vote_logs", "limit=1&after=1.1", "", ""},
		{"GET", "vote_history", "from=1&to=99999&step=999", "", ""},
		{"POST", "accumulate", "", "", `{"a":[{"b":"\ud800"}]}`},
		{"GET", "accumulate", "start=-9223372036854775808", "", ""},
		{"POST", "rank", "", "", `{"key":"\u0000"}`},
		{"GET", "rank", "limit=10000", "", ""},
		{"POST", "rank_config", "", "", `{"normalization":"nfkc","blocked":["*\u0345"],"endsAt":-1}`},
		{"POST", "rank_moderation", "", "", `{"action":"merge","key":"\u200b","into":"a"}`},
		{"PATCH", "channel_state", "", "If-Match", `[{"op":"add","path":"/a/-","value":null},{"op":"move","from":"/a","path":"/a/b"}]`},
		{"PATCH", "viewer_state", "", "", `{"a":{"b":null}}`},
		{"POST", "config/channel", "", "", `{"a":1e999999}`},
		{"PATCH", "extension_viewer_state", "", "", `{"5":[{"op":"test","path":"","value":{}}],"6":{}}`},
		{"GET", "extension_viewer_state", "user_ids=1,2,,x&userID=", "", ""},
		{"OPTIONS", "config", "", "Origin", ""},
		{"HEAD", "all_state", "", "Accept-Encoding", ""},
		{"POST", "authtoken", "", "", `{"app_id":"app","channel_id":"é","role":"\u2028","user_ids":["5",""]}`},
		{"PROPFIND", "../v1//vote", "", "Content-Type", ""},
	} {
		f.Add(seed.method, seed.path, seed.query, seed.header, "text/plain", seed.body)
	}
	a := newAPI(f)
	box := owner()
	box.key = sandboxKey
	credentials := map[string][]string{"/v1/": {owner().header(f), viewer().header(f), backend().header(f)}, "/sandbox/v1/e/": {box.header(f), ""}}
	f.Fuzz(func(t *testing.T, method, path, query, name, value, body string) {
		for prefix, headers := range credentials {
			for _, credential := range headers {
				r, err := http.NewRequestWithContext(t.Context(), method, "http://host"+prefix, strings.NewReader(body))
				if err != nil {
					return // no such method can arrive
				}
				r.URL = &url.URL{Path: prefix + path, RawQuery: query}
				r.RemoteAddr = "192.0.2.1:1234"
				r.Header.Set(name, value)
				r.Header.Set("Authorization", credential)
				w := httptest.NewRecorder()
				a.handler.ServeHTTP(w, r)
				if w.Code >= http.StatusInternalServerError {
					t.Errorf("%s %s?%s with %q as %q: %d %s", method, r.URL.Path, query, body, credential, w.Code, w.Body)
				}
				if w.Header().Get("Content-Encoding") == "" {
					answer{t, method + " " + path, w.Code, w.Header(), w.Body.String()}.check(method)
				}
			}
		}
	})
}
