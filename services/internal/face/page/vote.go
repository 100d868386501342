package page

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"rsc.io/qr"
)

// VotePath is the prefix of the paths of the page on which devices vote in a poll.
const VotePath = "/vote/"

// Vote returns a handler of the page on which devices vote, and of QR codes of links to it. The page
// finds the poll in its address.
func Vote() http.Handler {
	text, err := fs.ReadFile(files, "static/vote.html")
	if err != nil {
		panic(err) // it is embedded
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w.Header())
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		if r.URL.Path == VotePath+codeName {
			serveCode(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(text) // the client has gone
	})
}

const (
	codeName = "qr.svg"
	maxLink  = 1024
	quiet    = 4 // modules around a code, as its standard wants
)

// serveCode answers with the QR code of a link to the page on which devices vote. It makes none of
// another server's link, so that no foreign address comes from this one.
func serveCode(w http.ResponseWriter, r *http.Request) {
	text := r.URL.Query().Get("link")
	link, err := url.Parse(text)
	if err != nil || len(text) > maxLink || link.Host != r.Host || !strings.HasPrefix(link.Path, VotePath) {
		http.NotFound(w, r)
		return
	}
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		http.NotFound(w, r) // it is too long for a code
		return
	}
	var modules strings.Builder
	for y := range code.Size {
		for x, end := 0, 0; x < code.Size; x = end + 1 { // a run of black modules each
			for end = x; end < code.Size && code.Black(end, y); end++ {
			}
			if end > x {
				fmt.Fprintf(&modules, "M%d %dh%dv1h%dz", x+quiet, y+quiet, end-x, x-end)
			}
		}
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	size := code.Size + 2*quiet
	_, _ = fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[1]d" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h%[1]dv%[1]dH0z"/><path d="%[2]s"/></svg>`,
		size, modules.String()) // the client has gone
}
