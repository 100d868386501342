package registry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
)

// Keys as a file has them: of 32 bytes each, and one that is too short.
const (
	oneKey   = "b25lLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng=="
	otherKey = "dHdvLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng=="
	weakKey  = "b25l"
)

func TestKeepEntries(t *testing.T) {
	entry := func(client, app, key string) string {
		return "- appIDs: [" + app + "]\n  clientID: " + client + "\n  secrets:\n  - value: " + key + "\n"
	}
	held := map[v1alpha1.ID]bool{"quiz": true}
	for name, test := range map[string]struct {
		file, published string
		held            map[v1alpha1.ID]bool
		want            string // the client ids of the result
	}{
		"kept":             {"extensions: []\n", "extensions:\n" + entry("quiz", "", oneKey) + entry("other", "", otherKey), held, "quiz"},
		"kept in order":    {"extensions:\n" + entry("zoo", "", otherKey), "extensions:\n" + entry("quiz", "", oneKey), held, "quiz zoo"},
		"not held":         {"extensions: []\n", "extensions:\n" + entry("quiz", "", oneKey), nil, ""},
		"still there":      {"extensions:\n" + entry("quiz", "", otherKey), "extensions:\n" + entry("quiz", "", oneKey), held, "quiz"},
		"an id is taken":   {"extensions:\n" + entry("other", "quiz", otherKey), "extensions:\n" + entry("quiz", "", oneKey), held, "other"},
		"a key is taken":   {"extensions:\n" + entry("other", "", oneKey), "extensions:\n" + entry("quiz", "", oneKey), held, "other"},
		"a key is weak":    {"extensions: []\n", "extensions:\n" + entry("quiz", "", weakKey), held, ""},
		"nothing was read": {"extensions: []\n", "\t", held, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var ids []string
			for line := range strings.Lines(string(registry.KeepEntries([]byte(test.file), []byte(test.published), test.held))) {
				if _, id, ok := strings.Cut(line, "clientID: "); ok {
					ids = append(ids, strings.TrimSpace(id))
				}
			}
			if got := strings.Join(ids, " "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// The keys that are active, oldest first, as SigningKeys returns them of Secrets.
func TestPublishedKeys(t *testing.T) {
	file := []byte("extensions:\n- clientID: quiz\n  sandbox:\n    secrets:\n    - {value: " + otherKey + `, activeFrom: "2030-01-02T00:00:00Z"}` +
		"\n    - {value: " + oneKey + "}\n    - {value: " + weakKey + `, activeFrom: "2030-01-03T00:00:00Z"}` + "\n")
	keys := registry.PublishedKeys(file, "quiz", time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC))
	if len(keys) != 2 || !strings.HasPrefix(string(keys[0]), "one-") || !strings.HasPrefix(string(keys[1]), "two-") {
		t.Errorf("got %q", keys)
	}
	if keys := registry.PublishedKeys(file, "other", time.Now()); len(keys) > 0 {
		t.Errorf("of another extension: %q", keys)
	}
}
