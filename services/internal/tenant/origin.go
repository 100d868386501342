package tenant

import (
	"errors"
	"maps"
	"net/url"
	"strconv"
	"strings"
)

// anyPort ends an origin pattern that stands for every port of its host, the
// default port included.
const anyPort = ":*"

// originSet is a set of origin patterns: "*", an origin as a browser sends it
// (scheme://host or scheme://host:port), or scheme://host:*.
type originSet map[string]bool

func newOrigins(patterns []string) originSet {
	set := make(originSet, len(patterns))
	for _, pattern := range patterns {
		set[pattern] = true
	}
	return set
}

// defaultOrigins returns the origins of an extension that lists none.
func defaultOrigins(clientID string) []string {
	return []string{
		"https://" + strings.ToLower(clientID) + ".ext-twitch.tv",
		"http://localhost" + anyPort,
		"https://localhost" + anyPort,
	}
}

func (o originSet) allowsOrigin(origin string) bool {
	if origin == "" {
		return false
	}
	return o["*"] || o[origin] || o.allowsAnyPort(origin)
}

func (o originSet) add(other originSet) { maps.Copy(o, other) }

// allowsAnyPort reports whether the set has the origin, without its port if it has one,
// with the pattern for any port.
func (o originSet) allowsAnyPort(origin string) bool {
	_, host, _ := strings.Cut(origin, "://")
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		if _, err := strconv.ParseUint(host[i+1:], 10, 16); err == nil {
			origin = strings.TrimSuffix(origin, host[i:])
		}
	}
	var space [128]byte // every request asks, and most origins fit
	return o[string(append(append(space[:0], origin...), anyPort...))]
}

var errOrigin = errors.New(`is not an origin: write "*", scheme://host, scheme://host:port or scheme://host:*` +
	` with http or https, in lower case, without a path and without the scheme's default port`)

// checkOrigin refuses a pattern that no browser's Origin header could match.
func checkOrigin(pattern string) error {
	if pattern == "*" {
		return nil
	}
	origin := strings.TrimSuffix(pattern, anyPort)
	u, err := url.Parse(origin)
	if err != nil || u.Hostname() == "" || strings.HasSuffix(u.Host, ":") {
		return errOrigin
	}
	defaultPort := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	plain := u.Scheme + "://" + u.Host
	switch {
	case defaultPort == "", u.Port() == defaultPort,
		origin != strings.ToLower(plain),
		strings.ContainsAny(u.Host, "* "),
		origin != pattern && u.Port() != "":
		return errOrigin
	}
	return nil
}
