// Package rig serves a page that shows an extension as the streaming platform does: its views
// in frames, each with a helper in place of the platform's. It is for developers, on
// loopback.
//
// The page has one origin, and the extension's files another, so that the browser separates
// them as on the platform. The package reads the files that it is handed and may not open any.
// It knows the API only as an address that it passes requests on to.
package rig

import (
	"embed"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
)

//go:embed static
var static embed.FS

// Config holds the extension that a rig shows.
type Config struct {
	ClientID string
	Channel  string
	Files    fs.FS  // of the extension
	Views    Views  // see [FindViews]
	API      string // origin of the program
	Domains  Domains
	// Secret returns the key that signs the extension's tokens.
	Secret func() ([]byte, error)
}

// rig is a handler's configuration and its two origins.
type rig struct {
	Config
	page, extension string // host and port
}

// Handler serves the page at a loopback address, and the extension's files at the same port of
// "localhost". A request for another host is refused, because a foreign name that leads to
// this machine would let a foreign page read tokens.
func Handler(c Config, address *net.TCPAddr) (http.Handler, error) {
	api, err := url.Parse(c.API)
	if err != nil {
		return nil, fmt.Errorf("the address of the program: %w", err)
	}
	r := &rig{Config: c, page: address.String(), extension: fmt.Sprintf("localhost:%d", address.Port)}
	page, files := r.pageHandler(api), r.fileHandler()
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch q.Host {
		case r.page:
			page.ServeHTTP(w, q)
		case r.extension:
			files.ServeHTTP(w, q)
		default:
			http.Error(w, "the rig is at http://"+r.page+"/", http.StatusMisdirectedRequest)
		}
	}), nil
}

func (r *rig) pageHandler(api *url.URL) http.Handler {
	files, err := fs.Sub(static, "static/page")
	if err != nil {
		panic(err) // it is embedded
	}
	serve := http.FileServerFS(files)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, q *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "+
			"frame-src http://"+r.extension+"; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-cache")
		serve.ServeHTTP(w, q)
	})
	mux.HandleFunc("GET /settings", r.serveSettings)
	mux.HandleFunc("POST /token", r.issueToken)
	mux.HandleFunc("POST /receipt", r.issueReceipt)
	mux.Handle("GET /v1/events", &httputil.ReverseProxy{Rewrite: func(q *httputil.ProxyRequest) { q.SetURL(api) }})
	// Pages of other origins, the extension's among them, get no token from the rig itself.
	return http.NewCrossOriginProtection().Handler(mux)
}
