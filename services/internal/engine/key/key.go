// Package key is the identity of streams and documents, and the names under which
// they are stored.
//
// A stored name is the path-escaped elements joined by slashes: plain ASCII
// whatever the elements hold, readable in a database shell, and never the same
// for two different identities. Name is the value that names are made from and
// parsed to; stores and the engine treat names as opaque. The package may not
// import anything of the project.
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
