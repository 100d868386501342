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
	var name strings.Builder
	name.Grow(roomFor(parts))
	for i, part := range parts {
		if i > 0 {
			name.WriteByte('/')
		}
		name.WriteString(url.PathEscape(part))
	}
	return name.String()
}

// roomFor is the length of most names made of these parts: few need escapes.
func roomFor(parts []string) (length int) {
	for _, part := range parts {
		length += len(part) + 1
	}
	return length
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
