package main

import (
	"archive/zip"
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// startRig starts a rig for an extension and returns it with the rig's port.
func startRig(t *testing.T, extension string) (p *process, port string) {
	t.Helper()
	p = newProgram(t, t.TempDir(), "rig", "--rig-listen", "127.0.0.1:0", extension)
	p.launch(t)
	for lines := bufio.NewScanner(p.out); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "ready base="); ok {
			p.base, _, _ = strings.Cut(rest, " ")
		}
		if rest, ok := strings.CutPrefix(lines.Text(), "rig http://127.0.0.1:"); ok {
			return p, strings.TrimSuffix(rest, "/")
		}
	}
	t.Fatalf("no rig: %s", p.stderr)
	return nil, ""
}

// askRig sends a request to a port of this machine under a name.
func askRig(t *testing.T, method, port, name, path, body string, into any) (status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:"+port+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = name + ":" + port
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if into != nil && json.Unmarshal(content, into) != nil {
		t.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, content)
	}
	return answer.StatusCode
}

func writeArchive(t *testing.T, files map[string]fs.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "extension.zip")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	for name, mode := range files {
		header := &zip.FileHeader{Name: name}
		header.SetMode(mode)
		w, err := archive.CreateHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, "/etc/hostname"); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

// The rig serves a folder and an archive, and its tokens and receipts are good at the program.
func TestRig(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "panel.html"), []byte("<p>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(folder, "link.html")); err != nil {
		t.Fatal(err)
	}
	for _, extension := range []string{folder, writeArchive(t, map[string]fs.FileMode{"panel.html": 0o600, "js/a.js": 0o600})} {
		p, port := startRig(t, extension)
		for path, want := range map[string]int{"/panel.html": 200, "/link.html": 404, "/js": 404, "/../rig_test.go": 404} {
			if got := askRig(t, "GET", port, "localhost", path, "", nil); got != want {
				t.Errorf("%s: GET %s: %d, want %d", extension, path, got, want)
			}
		}
		var issued struct{ Token string }
		if got := askRig(t, "POST", port, "127.0.0.1", "/token", `{"role":"viewer","user":"7","shared":true}`, &issued); got != 200 {
			t.Fatalf("token: %d", got)
		}
		credential := sampleExtension + " " + issued.Token
		if status, err := p.do(http.MethodPost, "/vote", credential, `{"value":1}`, nil); err != nil || status != 200 {
			t.Errorf("vote: %d, %v", status, err)
		}
		var receipt struct{ TransactionReceipt string }
		if got := askRig(t, "POST", port, "127.0.0.1", "/receipt", `{"user":"7","product":{"sku":"spoons","cost":{"amount":10}}}`, &receipt); got != 200 {
			t.Fatalf("receipt: %d", got)
		}
		if status, err := p.do(http.MethodPost, "/bits/transactions", credential, `{"transactionReceipt":"`+receipt.TransactionReceipt+`"}`, nil); err != nil || status != 201 {
			t.Errorf("transaction: %d, %v", status, err)
		}
	}
}

func TestRigRefuses(t *testing.T) {
	t.Parallel()
	good := writeArchive(t, map[string]fs.FileMode{"panel.html": 0o600})
	text := filepath.Join(t.TempDir(), "text.zip")
	if err := os.WriteFile(text, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	for problem, args := range map[string][]string{
		"its host is 127.0.0.1, [::1] or localhost":   {"--rig-listen", "0.0.0.0:8090", good},
		"--rig-listen 192.0.2.1:8090: the rig signs":  {"--rig-listen", "192.0.2.1:8090", good},
		"--rig-listen: address 8090: missing port":    {"--rig-listen", "8090", good},
		"rig listens on loopback only":                {"--listen", "0.0.0.0:8080", good},
		"--rig-listen example.org:8090":               {"--rig-listen", "example.org:8090", good},
		"is neither a folder nor a zip archive":       {text},
		"no such file":                                {filepath.Join(t.TempDir(), "nowhere")},
		`"../panel.html" leads out of the archive`:    {writeArchive(t, map[string]fs.FileMode{"../panel.html": 0o600})},
		`"/panel.html" leads out of the archive`:      {writeArchive(t, map[string]fs.FileMode{"/panel.html": 0o600})},
		`"a/../../b.html" leads out of the archive`:   {writeArchive(t, map[string]fs.FileMode{"panel.html": 0o600, "a/../../b.html": 0o600})},
		`"..\\panel.html" leads out of the archive`:   {writeArchive(t, map[string]fs.FileMode{`..\panel.html`: 0o600})},
		`"panel.html" is a link or a device`:          {writeArchive(t, map[string]fs.FileMode{"panel.html": fs.ModeSymlink | 0o600})},
		"the extension has no panel.html":             {writeArchive(t, map[string]fs.FileMode{"readme.html": 0o600})},
		`"*" is not an address`:                       {"--fetch-domains", "*", good},
		`the view panel: the extension has no file "`: {"--view", "panel=a.html", good},
	} {
		// Without the refusal, the unknown extension ends the program.
		_, got, status := runCommand(t, nil, append([]string{"rig", "--data-dir", t.TempDir(), "--extensions", registryFile(), "--extension", "unknown",
			"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--rig-listen", "127.0.0.1:0"}, args...)...)
		if status != exitFailed || !strings.Contains(got, problem) {
			t.Errorf("%v: status %d, %s, want %s", args, status, got, problem)
		}
	}
	_, got, status := runCommand(t, nil, "rig", "--rig-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--data-dir", t.TempDir(), "--extensions", registryFile(), "--extension", "unknown", good)
	if status != exitProblems || !strings.Contains(got, `no extension "unknown"`) {
		t.Errorf("an unknown extension: status %d, %s", status, got)
	}
}
