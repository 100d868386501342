package registry_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

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
	const byQuiz = "# quiz is declared by team/quiz\n"
	held := []registry.Holding{{Extension: types.NamespacedName{Namespace: "team", Name: "quiz"}, ClientID: "quiz"}}
	for name, test := range map[string]struct {
		file, published string
		held            []registry.Holding
		want            string // the client ids of the result
	}{
		"kept":             {"extensions: []\n", "extensions:\n" + byQuiz + entry("quiz", "", oneKey) + entry("other", "", otherKey), held, "quiz"},
		"kept in order":    {"extensions:\n" + entry("zoo", "", otherKey), "extensions:\n" + byQuiz + entry("quiz", "", oneKey), held, "quiz zoo"},
		"of no Extension":  {"extensions: []\n", "extensions:\n" + entry("quiz", "", oneKey), held, "quiz"},
		"another's":        {"extensions: []\n", "extensions:\n# quiz is declared by rivals/quiz\n" + entry("quiz", "", oneKey), held, ""},
		"not held":         {"extensions: []\n", "extensions:\n" + byQuiz + entry("quiz", "", oneKey), nil, ""},
		"still there":      {"extensions:\n" + entry("quiz", "", otherKey), "extensions:\n" + byQuiz + entry("quiz", "", oneKey), held, "quiz"},
		"an id is taken":   {"extensions:\n" + entry("other", "quiz", otherKey), "extensions:\n" + byQuiz + entry("quiz", "", oneKey), held, "other"},
		"a key is taken":   {"extensions:\n" + entry("other", "", oneKey), "extensions:\n" + byQuiz + entry("quiz", "", oneKey), held, "other"},
		"a key is weak":    {"extensions: []\n", "extensions:\n" + byQuiz + entry("quiz", "", weakKey), held, ""},
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

// A withdrawn entry has a client id and one new key, which stays.
func TestWithdraw(t *testing.T) {
	team := types.NamespacedName{Namespace: "team", Name: "quiz"}
	held := []registry.Holding{{Extension: team, ClientID: "quiz", Withdrawn: true}}
	settings := "    allowedOrigins: [https://a.example]\n    secrets: [{value: " + oneKey + "}]\n    sinks: [{name: hook, webhook: {url: https://a.example, secrets: [{value: " + otherKey + "}]}}]\n"
	for environment, text := range map[string]string{
		"production": "- appIDs: [app]\n  clientID: quiz\n  externalRole: backend\n" + strings.ReplaceAll(settings, "    ", "  "),
		"sandbox":    "- appIDs: [app]\n  clientID: quiz\n  externalRole: backend\n  sandbox:\n" + settings,
	} {
		published := []byte("extensions:\n# quiz is declared by team/quiz\n" + text)
		first := registry.KeepEntries([]byte("extensions: []\n"), published, held)
		keys := registry.PublishedKeys(first, team, "quiz", time.Now())
		if len(keys) != 1 || len(keys[0]) < 32 || strings.HasPrefix(string(keys[0]), "one-") {
			t.Fatalf("%s: the keys are %q", environment, keys)
		}
		for _, text := range []string{"app", "externalRole", "Origins", "sinks"} {
			if strings.Contains(string(first), text) {
				t.Errorf("%s: the file has %q", environment, text)
			}
		}
		if again := registry.KeepEntries([]byte("extensions: []\n"), first, held); !bytes.Equal(first, again) {
			t.Errorf("%s: another time it is\n%s, not\n%s", environment, again, first)
		}
		if other := registry.KeepEntries([]byte("extensions: []\n"), published, held); bytes.Equal(first, other) {
			t.Errorf("%s: the key is not random", environment)
		}
		if got := registry.DeclaredBy(first); !slices.Equal(got, []types.NamespacedName{team}) {
			t.Errorf("%s: declared by %v", environment, got)
		}
	}
}

// The keys that are active, oldest first, as SigningKeys returns them of Secrets.
func TestPublishedKeys(t *testing.T) {
	file := []byte("extensions:\n# quiz is declared by team/quiz\n- clientID: quiz\n  sandbox:\n    secrets:\n    - {value: " + otherKey + `, activeFrom: "2030-01-02T00:00:00Z"}` +
		"\n    - {value: " + oneKey + "}\n    - {value: " + weakKey + `, activeFrom: "2030-01-03T00:00:00Z"}` + "\n")
	team := types.NamespacedName{Namespace: "team", Name: "quiz"}
	keys := registry.PublishedKeys(file, team, "quiz", time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC))
	if len(keys) != 2 || !strings.HasPrefix(string(keys[0]), "one-") || !strings.HasPrefix(string(keys[1]), "two-") {
		t.Errorf("got %q", keys)
	}
	if keys := registry.PublishedKeys(file, team, "other", time.Now()); len(keys) > 0 {
		t.Errorf("of another client id: %q", keys)
	}
	if keys := registry.PublishedKeys(file, types.NamespacedName{Namespace: "rivals", Name: "quiz"}, "quiz", time.Now()); len(keys) > 0 {
		t.Errorf("for another Extension: %q", keys)
	}
}
