package key_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
)

// FuzzJoin: a name is ASCII without spaces, tells its parts and nothing else.
func FuzzJoin(f *testing.F) {
	f.Add("poll", "production", "c h/ä")
	f.Add("", "a/b", "%2F")
	f.Add("/", "", "\x00\xff")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		name := key.Join(a, b, c)
		if at := strings.IndexFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }); at >= 0 {
			t.Errorf("%q holds %q", name, name[at])
		}
		parts, err := key.Split(name)
		if err != nil || !slices.Equal(parts, []string{a, b, c}) {
			t.Errorf("%q is split into %q, %v, want %q", name, parts, err, []string{a, b, c})
		}
	})
}
