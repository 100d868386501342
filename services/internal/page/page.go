// Package page serves what there is to look at: a poll as an overlay for broadcast
// software and, beside a sandbox, a console to try it with. The files are part of
// the program and load nothing from anywhere else.
//
// The pages are clients of the API like any other. The package may not know a
// domain and holds no state.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// Path is where the pages are served.
const Path = "/live/"

//go:embed static
var files embed.FS

// Handler serves the pages below Path. The console is for processes that serve a
// sandbox, whose tokens it uses.
func Handler(console bool) http.Handler {
	static, err := fs.Sub(files, "static")
	if err != nil {
		panic(err) // it is embedded
	}
	tags := tagsOf(static)
	serve := http.StripPrefix(Path, http.FileServerFS(static))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, Path)
		if name == "" {
			name = "index.html"
		}
		tag, known := tags[name]
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "+
			"frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		switch {
		case !known || !console && strings.HasPrefix(name, "console"):
			http.NotFound(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		default:
			h.Set("Cache-Control", "no-cache")
			h.Set("ETag", tag)
			serve.ServeHTTP(w, r)
		}
	})
}

// tagsOf returns the entity tag of every file, by name.
func tagsOf(static fs.FS) map[string]string {
	tags := map[string]string{}
	names, err := fs.Glob(static, "*")
	if err != nil {
		panic(err) // the pattern is well-formed
	}
	for _, name := range names {
		content, err := fs.ReadFile(static, path.Clean(name))
		if err != nil {
			panic(err) // it is embedded
		}
		sum := sha256.Sum256(content)
		tags[name] = `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	}
	return tags
}
