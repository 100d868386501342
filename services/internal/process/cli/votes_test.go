package cli

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// interrupter ends a context at the first write.
type interrupter struct {
	text bytes.Buffer
	end  context.CancelFunc
}

// Write implements [io.Writer].
func (i *interrupter) Write(p []byte) (int, error) {
	i.end()
	return i.text.Write(p)
}

// A monitor follows the log until it is interrupted.
func TestFollow(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stdout := &interrupter{end: cancel}
	code := Execute(ctx, []string{"monitor", testSite + "site", "--key", testKey(t), "--every", "1h"}, nil, stdout, stdout)
	if code != exitDone || !strings.Contains(stdout.text.String(), "3 records") {
		t.Errorf("exits with %d: %s", code, &stdout.text)
	}
}

// testSite is a site with three votes in a closed poll.
const testSite = "../../../../api/verifiable/testdata/"

func testKey(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(testSite + "vkey")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// run runs a command and checks its exit code, and what it prints.
func run(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	got := Execute(t.Context(), args, nil, &stdout, &stderr)
	if got != code || !strings.Contains(stdout.String()+stderr.String(), want) {
		t.Errorf("%v exits with %d, want %d with %q\n%s%s", args, got, code, want, &stdout, &stderr)
	}
}

// changedSite returns a copy of the site whose poll shows another result.
func changedSite(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(testSite+"site")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "public/sample/1/lunch/result.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(text, []byte(`"count":"3"`), []byte(`"count":"4"`), 1)
	if err := os.WriteFile(file, changed, 0o600); err != nil || bytes.Equal(changed, text) {
		t.Fatal("nothing is changed", err)
	}
	return dir
}

func TestVerifyReceipt(t *testing.T) {
	receipt, key := testSite+"alice.acclaim-receipt", testKey(t)
	server := httptest.NewServer(http.FileServer(http.Dir(testSite + "site")))
	t.Cleanup(server.Close)
	run(t, exitDone, "recorded       yes", "verify-receipt", receipt, "--key", key)
	for _, site := range []string{testSite + "site", server.URL, server.URL + "/"} {
		run(t, exitDone, "counted        yes", "verify-receipt", receipt, "--key", key, "--site", site)
	}
	run(t, exitProblems, "shown-result-differs", "verify-receipt", receipt, "--key", key, "--site", changedSite(t))
	run(t, exitProblems, "signature", "verify-receipt", receipt, "--key", "example.com/acclaim/0123abcd+82262c1e+Ac7MFQfcHd1ylZUcKQiI8JWtuQRNG3PWlubfBl1oO9T8", "--json")
	run(t, exitProblems, "no acclaim-receipt/v1", "verify-receipt", testSite+"policy", "--key", key)
	run(t, exitFailed, "read log/checkpoint", "verify-receipt", receipt, "--key", key, "--site", t.TempDir())
	run(t, exitFailed, "read log/checkpoint", "verify-receipt", receipt, "--key", key, "--site", server.URL+"/missing")
	run(t, exitFailed, "verifier key", "verify-receipt", receipt, "--key", "x")
	run(t, exitFailed, `"key" not set`, "verify-receipt", receipt)
}

// The third verdict takes witnesses and the state of a monitor.
func TestSameForAll(t *testing.T) {
	key, site := testKey(t), testSite+"site"
	state := filepath.Join(t.TempDir(), "state.json")
	run(t, exitDone, "3 records, 1 polls", "monitor", site, "--key", key, "--state", state, "--once")
	run(t, exitDone, "same for all   yes", "verify-receipt", testSite+"alice.acclaim-receipt", "--key", key, "--site", site,
		"--policy", testSite+"policy", "--monitor", state)
}

func TestAudit(t *testing.T) {
	key := testKey(t)
	server := httptest.NewServer(http.FileServer(http.Dir(testSite + "site")))
	t.Cleanup(server.Close)
	const result = "/public/sample/1/lunch/result.json"
	for _, site := range []string{testSite + "site", server.URL} {
		run(t, exitDone, "The recount gives the signed result", "audit", site+result, "--key", key)
	}
	run(t, exitProblems, "WRONG  shown-result-differs", "audit", changedSite(t)+result, "--key", key)
	run(t, exitFailed, "result.json", "audit", server.URL, "--key", key)
	run(t, exitFailed, "not exist", "audit", server.URL+"/public/sample/1/dinner/result.json", "--key", key)
}

func TestMonitor(t *testing.T) {
	key := testKey(t)
	state := filepath.Join(t.TempDir(), "state.json")
	dir := changedSite(t)
	run(t, exitDone, "3 records", "monitor", dir, "--key", key, "--once", "--state", state, "--json=false")
	run(t, exitDone, `"size":3`, "monitor", dir, "--key", key, "--once", "--state", state, "--json")
	other, err := os.ReadFile(filepath.Join(dir, "log/t/00000000000000000000000000000001/checkpoint"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "log/checkpoint"), other, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, exitProblems, "WRONG  signature", "monitor", dir, "--key", key, "--once", "--state", state)
	run(t, exitProblems, "WRONG  signature", "monitor", testSite+"site", "--key", key, "--once", "--state", state)
	run(t, exitFailed, "read log/checkpoint", "monitor", t.TempDir(), "--key", key, "--once")
	run(t, exitFailed, "other keys", "monitor", dir, "--key", "example.com/acclaim/0123abcd+82262c1e+Ac7MFQfcHd1ylZUcKQiI8JWtuQRNG3PWlubfBl1oO9T8", "--once", "--state", state)
	run(t, exitFailed, "every", "monitor", dir, "--key", key, "--every", "0s")
}
