package rig_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/face/rig"
)

const (
	page      = "http://127.0.0.1:8090"
	extension = "http://localhost:8090"
	api       = "http://127.0.0.1:8080"
)

func files(names ...string) fstest.MapFS {
	fs := fstest.MapFS{}
	for _, name := range names {
		fs[name] = &fstest.MapFile{Data: []byte("content of " + name)}
	}
	return fs
}

func handler(t *testing.T, c rig.Config) http.Handler {
	t.Helper()
	c.ClientID, c.Channel, c.API = "one", "1", api
	if c.Secret == nil {
		c.Secret = func() ([]byte, error) { return []byte("a key of at least 32 bytes for tests"), nil }
	}
	h, err := rig.Handler(c, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8090})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func ask(t *testing.T, h http.Handler, method, address, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// The page and the extension's files have an origin each. Other names that lead to this machine
// have none.
func TestOrigins(t *testing.T) {
	h := handler(t, rig.Config{Files: files("panel.html", "settings")})
	for _, test := range []struct {
		method, address string
		status          int
	}{
		{"GET", page + "/", 200},
		{"GET", page + "/rig.js", 200},
		{"GET", page + "/settings", 200},
		{"GET", page + "/panel.html", 404},
		{"GET", page + "/acclaim-rig/helper.js", 404},
		{"GET", page + "/token", 404},
		{"GET", page + "/v1/vote", 404},
		{"GET", extension + "/panel.html", 200},
		{"HEAD", extension + "/panel.html", 200},
		{"POST", extension + "/panel.html", 405},
		{"GET", extension + "/acclaim-rig/helper.js", 200},
		{"GET", extension + "/", 404},
		{"GET", extension + "/rig.js", 404},
		{"POST", extension + "/token", 405},
		{"GET", extension + "/../panel.html", 404},
		{"GET", "http://rebound.example:8090/settings", 421},
		{"GET", "http://127.0.0.1/settings", 421},
		{"GET", "http://localhost:8080/panel.html", 421},
	} {
		if got := ask(t, h, test.method, test.address, "").Code; got != test.status {
			t.Errorf("%s %s: %d, want %d", test.method, test.address, got, test.status)
		}
	}
}

func TestTokensAreForThePageOnly(t *testing.T) {
	h := handler(t, rig.Config{Files: files("panel.html")})
	for name, test := range map[string]struct {
		body    string
		headers []string
		status  int
	}{
		"the page":                {`{"role":"viewer"}`, []string{"Sec-Fetch-Site", "same-origin", "Origin", page}, 200},
		"the extension":           {`{"role":"viewer"}`, []string{"Sec-Fetch-Site", "cross-site", "Origin", extension}, 403},
		"an older browser":        {`{"role":"viewer"}`, []string{"Origin", extension}, 403},
		"a role with more rights": {`{"role":"admin"}`, nil, 400},
		"no role":                 {`{}`, nil, 400},
		"another channel":         {`{"role":"viewer","channel":"2"}`, nil, 400},
		"a long id":               {`{"role":"viewer","user":"` + strings.Repeat("9", 2000) + `"}`, nil, 400},
		"no JSON":                 {`role=viewer`, nil, 400},
		"a large body":            {`{"role":"` + strings.Repeat("v", 1<<17) + `"}`, nil, 400},
	} {
		if got := ask(t, h, "POST", page+"/token", test.body, test.headers...); got.Code != test.status {
			t.Errorf("%s: %d, want %d: %s", name, got.Code, test.status, got.Body)
		}
	}
	if got := ask(t, h, "POST", page+"/receipt", `{"user":"1","product":{"sku":"s","cost":{"amount":0}}}`).Code; got != 400 {
		t.Errorf("a receipt for nothing: %d", got)
	}
	without := handler(t, rig.Config{Files: files("panel.html"), Secret: func() ([]byte, error) { return nil, errors.New("no key") }})
	if got := ask(t, without, "POST", page+"/token", `{"role":"viewer"}`); got.Code != 503 || !strings.Contains(got.Body.String(), `"reason":"no key"`) {
		t.Errorf("without a key: %d %s", got.Code, got.Body)
	}
}

// The extension's files have the platform's policy, and the rig's helper in place of the
// platform's.
func TestFiles(t *testing.T) {
	fs := files("script.js")
	for name, helper := range map[string]string{
		"min.html": "https://extension-files.twitch.tv/helper/v1/twitch-ext.min.js", "full.html": "//extension-files.twitch.tv/helper/v1.2/twitch-ext.js",
	} {
		fs[name] = &fstest.MapFile{Data: []byte(`<script src="` + helper + `"></script>`)}
	}
	h := handler(t, rig.Config{Files: fs, Domains: rig.Domains{Fetch: []string{"https://api.example.org"}, Image: []string{"https://images.example.org"}}})
	for _, name := range []string{"min.html", "full.html"} {
		if got := ask(t, h, "GET", extension+"/"+name, "").Body.String(); got != `<script src="/acclaim-rig/helper.js"></script>` {
			t.Errorf("%s: %s", name, got)
		}
	}
	got := ask(t, h, "GET", extension+"/script.js", "").Header()
	for _, directive := range []string{"default-src 'self'", "script-src 'self' https://*.google", "frame-ancestors " + page} {
		if !strings.Contains(got.Get("Content-Security-Policy"), directive) {
			t.Errorf("the policy lacks %q: %s", directive, got.Get("Content-Security-Policy"))
		}
	}
	for directive, want := range map[string]string{"connect-src": api + " https://api.example.org", "img-src": api + " https://images.example.org"} {
		if d := directiveOf(got.Get("Content-Security-Policy"), directive); !strings.HasSuffix(d, " "+want) {
			t.Errorf("%s is %q, want %q in it", directive, d, want)
		}
	}
	if d := directiveOf(got.Get("Content-Security-Policy"), "script-src"); strings.Contains(d, "unsafe") {
		t.Errorf("scripts inside of pages run: %s", d)
	}
	if got.Get("Cache-Control") != "no-store" || !strings.HasPrefix(got.Get("Content-Type"), "text/javascript") {
		t.Errorf("headers %v", got)
	}
}

func directiveOf(policy, name string) string {
	for d := range strings.SplitSeq(policy, "; ") {
		if strings.HasPrefix(d, name+" ") {
			return d
		}
	}
	return ""
}

func TestDomains(t *testing.T) {
	for domain, good := range map[string]bool{
		"https://example.org": true, "wss://example.org:8443": true, "http://localhost:3000": true,
		"example.org": false, "*": false, "": false, "https://example.org; script-src *": false, "https://a.org 'unsafe-inline'": false,
	} {
		if err := (rig.Domains{Media: []string{domain}}).Check(); (err == nil) != good {
			t.Errorf("%q: %v", domain, err)
		}
	}
}

func TestViews(t *testing.T) {
	for name, test := range map[string]struct {
		files []string
		named map[string]string
		want  rig.Views
		err   string
	}{
		"names of the platform": {[]string{"panel.html", "index.html", "config.html", "other.html"}, nil, rig.Views{"panel": "panel.html", "config": "config.html"}, ""},
		"one page":              {[]string{"index.html"}, nil, rig.Views{"panel": "index.html"}, ""},
		"named":                 {[]string{"dist/a.html", "mobile.html"}, map[string]string{"panel": "/dist/a.html"}, rig.Views{"panel": "dist/a.html", "mobile": "mobile.html"}, ""},
		"none":                  {[]string{"readme.html"}, nil, nil, "name a view's file"},
		"not there":             {[]string{"panel.html"}, map[string]string{"config": "c.html"}, nil, `no file "c.html"`},
		"outside":               {[]string{"panel.html"}, map[string]string{"config": "../c.html"}, nil, `no file "../c.html"`},
		"unknown":               {[]string{"panel.html"}, map[string]string{"sidebar": "panel.html"}, nil, `no view "sidebar"`},
	} {
		got, err := rig.FindViews(files(test.files...), test.named)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if (err != nil || test.err != "") && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: error %v, want %q", name, err, test.err)
		}
	}
}

// A browser reads parts of a film, in a folder and in an archive. The rig refuses a page that it would have to
// hold in memory.
func TestLargeFiles(t *testing.T) {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for name, content := range map[string][]byte{"film.webm": []byte("0123456789"), "panel.html": []byte("<p>"), "large.html": make([]byte, 1<<20+1), "bomb.js": make([]byte, 64<<20+1)} {
		file, err := w.Create(name)
		if err == nil {
			_, err = file.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	folder := fstest.MapFS{"film.webm": {Data: []byte("0123456789")}, "large.html": {Data: make([]byte, 1<<20+1)}, "bomb.js": {Data: make([]byte, 64<<20+1)}}
	for name, files := range map[string]fs.FS{"archive": archive, "folder": folder} {
		h := handler(t, rig.Config{Files: files})
		for _, test := range []struct {
			path, part, want string
			status           int
		}{
			{"/film.webm", "", "0123456789", 200},
			{"/film.webm", "bytes=3-5", "345", 206},
			{"/film.webm", "bytes=-2", "89", 206},
			{"/large.html", "", "large.html has more than 1 MiB\n", 404},
			{"/bomb.js", "", "bomb.js has more than 64 MiB\n", 404},
		} {
			if got := ask(t, h, "GET", extension+test.path, "", "Range", test.part); got.Code != test.status || got.Body.String() != test.want {
				t.Errorf("%s: GET %s %s: %d %.40q", name, test.path, test.part, got.Code, got.Body)
			}
		}
	}
}
