package page_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rsc.io/qr"

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

// A code has each black module once, within its margin.
func TestModulesOfCode(t *testing.T) {
	const link = "https://example.com/vote/ext/1/lunch"
	res := httptest.NewRecorder()
	page.Vote().ServeHTTP(res, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/vote/qr.svg?link="+url.QueryEscape(link), nil))
	code, err := qr.Encode(link, qr.M)
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[[2]int]int{}
	for _, run := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-(\d+)z`).FindAllStringSubmatch(res.Body.String(), -1) {
		x, y, width := atoi(t, run[1]), atoi(t, run[2]), atoi(t, run[3])
		if run[3] != run[4] {
			t.Errorf("a run is not closed: %s", run[0])
		}
		for i := range width {
			drawn[[2]int{x + i - 4, y - 4}]++
		}
	}
	for y := range code.Size {
		for x := range code.Size {
			if got, black := drawn[[2]int{x, y}], code.Black(x, y); black && got != 1 || !black && got != 0 {
				t.Errorf("module %d, %d is drawn %d times", x, y, got)
			}
		}
	}
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
