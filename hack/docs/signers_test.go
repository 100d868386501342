package docs

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// Each program of the page on tokens prints a credential that the extension's key has signed.
func TestSigners(t *testing.T) {
	const page, secret = "services/docs/tokens.md", "a key of more than 32 bytes: 0123456789"
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	for language, signer := range map[string]struct {
		file    string
		command []string
	}{
		"go":     {"main.go", []string{"go", "run"}},
		"js":     {"sign.cjs", []string{"node"}},
		"python": {"sign.py", []string{"python3"}},
	} {
		t.Run(language, func(t *testing.T) {
			code := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
			if code == nil {
				t.Fatalf("%s has no program", page)
			}
			if _, err := exec.LookPath(signer.command[0]); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			file := filepath.Join(t.TempDir(), signer.file)
			if err := os.WriteFile(file, code[1], 0o600); err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(t.Context(), signer.command[0], append(signer.command[1:], file, "broadcaster", "7", "42")...)
			run.Dir = root
			run.Env = append(os.Environ(), "CLIENT_ID=my-extension", "SECRET="+base64.StdEncoding.EncodeToString([]byte(secret)))
			run.Stderr = t.Output()
			printed, err := run.Output()
			if err != nil {
				t.Fatal(err)
			}
			checkCredential(t, strings.TrimSuffix(string(printed), "\n"), "my-extension", secret)
		})
	}
}

func checkCredential(t *testing.T, credential, extension, secret string) {
	t.Helper()
	token, found := strings.CutPrefix(credential, extension+" ")
	claims := jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return []byte(secret), nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired())
	if err != nil || !found {
		t.Fatalf("%q: %v", credential, err)
	}
	for claim, want := range map[string]string{"role": "broadcaster", "channel_id": "7", "user_id": "42", "opaque_user_id": "U42"} {
		if claims[claim] != want {
			t.Errorf("%s is %v, want %s", claim, claims[claim], want)
		}
	}
}
