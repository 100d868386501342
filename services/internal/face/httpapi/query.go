package httpapi

import (
	"net/url"
	"strings"
)

// queryParameter returns the first query parameter of that name, and false when there is
// none. [url.URL.Query] would drop a parameter with a semicolon or a malformed
// escape, and the request would reach the default poll; here both are taken
// literally, as in browsers.
func (r *apiRequest) queryParameter(name string) (string, bool) {
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if key, value, _ := strings.Cut(pair, "="); unescape(key) == name {
			return unescape(value), true
		}
	}
	return "", false
}

// queryParameters returns all query parameters of that name, in their order.
func (r *apiRequest) queryParameters(name string) (values []string) {
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
