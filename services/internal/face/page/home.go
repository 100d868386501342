package page

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"strings"
)

//go:embed home.html
var homeText string

// Home holds the content of the page at "/".
type Home struct {
	// Console reports that the sandbox's console is there.
	Console bool
	Version string
	// Documentation is the address of the documentation of this version.
	Documentation string
}

// WantsHome reports whether a request is for the page at "/": a browser asks for HTML, and
// clients of the API get the API's answer.
func WantsHome(r *http.Request) bool {
	return r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

// Handler returns a handler of requests for the page.
func (h Home) Handler() http.Handler {
	var text bytes.Buffer
	if err := template.Must(template.New("home").Parse(homeText)).Execute(&text, h); err != nil {
		panic(err) // the template is embedded, and has fields of h only
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		protect(w.Header())
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Vary", "Accept")
		_, _ = w.Write(text.Bytes()) // the client has gone
	})
}
