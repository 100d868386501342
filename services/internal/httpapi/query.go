package httpapi

import (
	"net/url"
	"strings"
)

// parameter returns the first query parameter of that name, and false when there
// is none. [url.URL.Query] would leave out what has a semicolon or a malformed
// escape, and so answer for the default poll where another one was named; here
// both stand for themselves, as browsers have it.
func (r *request) parameter(name string) (string, bool) {
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if key, value, _ := strings.Cut(pair, "="); unescape(key) == name {
			return unescape(value), true
		}
	}
	return "", false
}

// parameters returns all query parameters of that name, in their order.
func (r *request) parameters(name string) (values []string) {
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if key, value, _ := strings.Cut(pair, "="); unescape(key) == name {
			values = append(values, unescape(value))
		}
	}
	return values
}

func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}
