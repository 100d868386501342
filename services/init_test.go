package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

const ownSecret = "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI="

// initialize runs init for a file and returns the only extension of it.
func initialize(t *testing.T, input io.Reader, file string, args ...string) *tenant.Extension {
	t.Helper()
	_, problem, status := runCommand(t, input, append([]string{"init", "--extensions", file}, args...)...)
	if status != 0 {
		t.Fatalf("status %d, %s", status, problem)
	}
	directory, err := tenant.Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	for extension := range directory.Registry().Extensions() {
		return extension
	}
	t.Fatal("the registry is empty")
	return nil
}

// keyOf returns the newest key of an extension.
func keyOf(t *testing.T, extension *tenant.Extension, environment tenant.Environment) string {
	t.Helper()
	secret, ok := extension.SigningSecret(environment, time.Now())
	if !ok {
		t.Fatalf("no %s secret", environment)
	}
	return string(secret.Value)
}

// The registry that init writes by asking is one that the program starts with.
func TestInitAsks(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "new", "extensions.yaml")
	answers := "my extension\nmine\nnot base64\nc2hvcnQ=\n" + ownSecret + "\n1000\n" // the first of each kind are wrong
	extension := initialize(t, strings.NewReader(answers), file)
	if extension.ClientID != "mine" || extension.OwnerUserID != "1000" || keyOf(t, extension, tenant.Production) != "12345678901234567890123456789012" {
		t.Errorf("%+v", extension)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != fs.FileMode(0o600) {
		t.Errorf("others may read the keys: %v, %v", info.Mode(), err)
	}
	startProgram(t, t.TempDir(), "serve", "--extensions", file)
	if _, problem, status := runCommand(t, nil, "token", "--extensions", file, "--extension", "mine", "--role", "viewer", "--channel", "1"); status != 0 {
		t.Errorf("token: %s", problem)
	}
}

// Without a secret each registry has keys of its own.
func TestInitGeneratesKeys(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 2 {
		extension := initialize(t, nil, filepath.Join(t.TempDir(), "e.yaml"), "--extension", "mine", "--owner", "1000")
		for _, environment := range []tenant.Environment{tenant.Production, tenant.Sandbox} {
			key := keyOf(t, extension, environment)
			if len(key) != 32 || seen[key] {
				t.Errorf("%s: a key of %d bytes, used before: %t", environment, len(key), seen[key])
			}
			seen[key] = true
		}
	}
	given := initialize(t, strings.NewReader(ownSecret+"\n"), filepath.Join(t.TempDir(), "e.yaml"), "--extension", "mine", "--secret-file", "-")
	if keyOf(t, given, tenant.Production) != "12345678901234567890123456789012" {
		t.Error("the given secret is not used")
	}
}

func TestInitRefuses(t *testing.T) {
	t.Parallel()
	existing := filepath.Join(t.TempDir(), "extensions.yaml")
	if err := os.WriteFile(existing, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "extensions.yaml")
	for name, test := range map[string]struct {
		input, want string
		args        []string
	}{
		"a file that exists": {"", "exists, and init overwrites nothing", []string{"--extensions", existing, "--extension", "mine"}},
		"a bad client id":    {"", "--extension: must be 1 to", []string{"--extensions", fresh, "--extension", "my extension"}},
		"a short secret":     {"c2hvcnQ=", "is weak", []string{"--extensions", fresh, "--extension", "mine", "--secret-file", "-"}},
		"no base64":          {"secret!", "is not base64", []string{"--extensions", fresh, "--extension", "mine", "--secret-file", "-"}},
		"a sample":           {"c2FtcGxlLXNlY3JldC10aGF0LWV2ZXJ5b25lLWtub3dz", "published sample", []string{"--extensions", fresh, "--extension", "mine", "--secret-file", "-"}},
		"an empty secret":    {"\n", "is empty", []string{"--extensions", fresh, "--extension", "mine", "--secret-file", "-"}},
		"a lone secret":      {"", "needs --extension", []string{"--extensions", fresh, "--secret-file", "-"}},
		"no answers":         {"mine\n", "the answers ended", []string{"--extensions", fresh}},
	} {
		t.Run(name, func(t *testing.T) {
			_, problem, status := runCommand(t, strings.NewReader(test.input), append([]string{"init"}, test.args...)...)
			if status != exitFailed || !strings.Contains(problem, test.want) || strings.Contains(problem, "secret!") {
				t.Errorf("status %d, %s", status, problem)
			}
		})
	}
	if text, err := os.ReadFile(existing); string(text) != "precious" || err != nil {
		t.Errorf("the registry was overwritten: %q, %v", text, err)
	}
	if _, err := os.Stat(fresh); err == nil {
		t.Error("a refused registry was written")
	}
}
