// Package key builds the names under which streams and documents are stored.
//
// A name is the path-escaped parts joined by slashes: plain ASCII whatever the
// parts hold, readable in a database shell, and never the same for two
// different lists of parts. The package may not import anything of the project.
package key

import (
	"net/url"
	"strings"
)

// Join returns the name made of the given parts, in order.
func Join(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = url.PathEscape(part)
	}
	return strings.Join(escaped, "/")
}

// Split returns the parts that Join was given.
func Split(name string) ([]string, error) {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		plain, err := url.PathUnescape(part)
		if err != nil {
			return nil, err
		}
		parts[i] = plain
	}
	return parts, nil
}
