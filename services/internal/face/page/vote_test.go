package page_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/face/page"
)

// The page is the same for every poll, and may load nothing of other servers.
func TestVotePage(t *testing.T) {
	for method, status := range map[string]int{http.MethodGet: 200, http.MethodHead: 200, http.MethodPost: 405} {
		w := httptest.NewRecorder()
		page.Vote().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/vote/ext/1/lunch", nil))
		if w.Code != status || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
		if isPage := strings.HasPrefix(w.Header().Get("Content-Type"), "text/html"); isPage != (status == http.StatusOK) {
			t.Errorf("%s: %v", method, w.Header())
		}
	}
}

// Codes are made of links to polls of this server alone.
func TestCodes(t *testing.T) {
	for link, status := range map[string]int{
		"https://example.com/vote/ext/1/lunch":                           200,
		"https://example.com/vote/ext/1/lunch?env=sandbox":               200,
		"https://evil.example/vote/ext/1/lunch":                          404,
		"https://example.com@evil.example/vote/ext/1/lunch":              404,
		"https://example.com/live/":                                      404,
		"javascript:alert(1)":                                            404,
		"":                                                               404,
		"https://example.com/vote/" + strings.Repeat("x", 1100):          404,
		"https://example.com/vote/ext/1/%zz":                             404,
		"https://example.com/vote/ext/1/" + strings.Repeat("%C3%A4", 64): 200,
	} {
		res := httptest.NewRecorder()
		page.Vote().ServeHTTP(res, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/vote/qr.svg?link="+url.QueryEscape(link), nil))
		if res.Code != status || (status == http.StatusOK) != (res.Header().Get("Content-Type") == "image/svg+xml") {
			t.Errorf("%q: %d %v", link, res.Code, res.Header())
		}
		if strings.Contains(res.Body.String(), "<script") || strings.Contains(res.Body.String(), "evil") {
			t.Errorf("%q: %s", link, res.Body)
		}
	}
}
