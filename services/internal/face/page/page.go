// Package page serves web pages: a poll as an overlay for broadcast software, a console for
// the staff of a channel, a page on which devices vote, beside a sandbox one to try a poll with, and
// links to them at "/". The files are part of the program and load nothing from other servers.
//
// The pages are clients of the API like any other. The package may not know a
// domain and holds no state.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/api"
)

// Path is the prefix of the pages' paths.
const Path = "/live/"

const (
	overlay     = "index.html"
	description = "openapi.yaml" // of the API
)

//go:embed static
var files embed.FS

// Handler serves the pages below Path. Only processes that serve a sandbox have the
// console that uses its tokens.
func Handler(console bool) http.Handler {
	static, err := fs.Sub(files, "static")
	if err != nil {
		panic(err) // it is embedded
	}
	tags := entityTags(static)
	tags[description] = entityTag(api.OpenAPI)
	serve := http.StripPrefix(Path, http.FileServerFS(static))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, Path)
		if name == "" {
			name = overlay
		}
		tag, known := tags[name]
		h := w.Header()
		protect(h)
		switch {
		case !known || !console && strings.HasPrefix(name, "console"):
			http.NotFound(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		default:
			h.Set("Cache-Control", "no-cache")
			h.Set("ETag", tag)
			if name == overlay {
				allowStyles(h)
			}
			if name != description {
				serve.ServeHTTP(w, r)
				return
			}
			h.Set("Content-Type", "text/plain; charset=utf-8") // which browsers show
			http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(api.OpenAPI))
		}
	})
}

// allowStyles lets the software that shows a page add styles of its user: broadcast software adds
// them as an element of the page, and the policy would keep it from that.
func allowStyles(h http.Header) {
	const policy = "Content-Security-Policy"
	h.Set(policy, strings.Replace(h.Get(policy), "style-src 'self'", "style-src 'self' 'unsafe-inline'", 1))
}

// protect keeps a page from loading anything of other servers, and others from showing it.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
}

// entityTags returns the entity tags of all files, by name.
func entityTags(static fs.FS) map[string]string {
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
		tags[name] = entityTag(content)
	}
	return tags
}

func entityTag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}
