package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/process/cli"
)

// remote runs commands against a program.
type remote struct {
	*testing.T
	*process
	flags []string
}

func (r *remote) try(args ...string) (out, problem string, status int) {
	r.Helper()
	return runCommand(r.T, nil, append(append(args, "--server", r.base), r.flags...)...)
}

// run runs a command that succeeds and returns what it prints.
func (r *remote) run(args ...string) string {
	r.Helper()
	out, problem, status := r.try(args...)
	if status != 0 {
		r.Fatalf("%s: status %d, %s", strings.Join(args, " "), status, problem)
	}
	return out
}

// refused runs a command that fails with a reason.
func (r *remote) refused(reason string, args ...string) {
	r.Helper()
	if _, problem, status := r.try(args...); status == 0 || !strings.Contains(problem, reason) {
		r.Errorf("%s: status %d, %s", strings.Join(args, " "), status, problem)
	}
}

// newRemote starts a program and returns the commands of a back end, whose key is in a file.
func newRemote(t *testing.T) *remote {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("c2FtcGxlLXNlY3JldC10aGF0LWV2ZXJ5b25lLWtub3dz\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &remote{t, startProgram(t, t.TempDir(), "serve"), []string{"--key-file", key, "--extension", sampleExtension, "--channel", "1"}}
}

// vote votes as a viewer.
func (r *remote) vote(user, value string) {
	r.Helper()
	credential := strings.TrimSpace(r.viewer(user))
	if status, err := r.do(http.MethodPost, "/vote?id=lunch", credential, `{"value":`+value+`}`, nil); err != nil || status != http.StatusOK {
		r.Fatalf("status %d, %v", status, err)
	}
}

func (r *remote) viewer(user string) string {
	r.Helper()
	out, problem, status := runCommand(r.T, nil, "token", "--extensions", registryFile(), "--extension", sampleExtension, "--role", "viewer", "--channel", "1", "--user", user)
	if status != 0 {
		r.Fatal(problem)
	}
	return out
}

func TestPollCommands(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	created := r.run("poll", "create", "lunch", "--prompt", "What is for lunch?", "--option", "Soup", "--option", "Salad", "--results", "afterVote")
	if !strings.HasPrefix(created, "ID") || !strings.Contains(created, "lunch  active  -     2        What is for lunch?") {
		t.Error(created)
	}
	r.refused("--replace", "poll", "create", "lunch")
	r.run("poll", "create", "lunch", "--prompt", "Lunch?", "--option", "Soup", "--option", "Salad", "--replace")
	r.vote("5", "1")
	if got, want := r.run("poll", "results", "lunch"), "Lunch?  active  votes: 1\nSoup         0    0.0%\nSalad        1  100.0%\n"; got != want {
		t.Errorf("%s", cmp.Diff(want, got))
	}

	// A watcher shows what changes, and ends with the poll.
	watching, watched := io.Pipe()
	status := make(chan int, 1)
	go func() {
		args := append([]string{"poll", "watch", "lunch", "-o", "json", "--server", r.base}, r.flags...)
		status <- cli.Execute(t.Context(), args, nil, watched, os.Stderr)
		_ = watched.Close()
	}()
	shown := json.NewDecoder(watching)
	next := func() (count int64, state string) {
		var result struct {
			Poll       struct{ Status string }
			Statistics struct{ Count int64 }
		}
		if err := shown.Decode(&result); err != nil {
			t.Fatal(err)
		}
		return result.Statistics.Count, result.Poll.Status
	}
	if count, state := next(); count != 1 || state != "active" {
		t.Errorf("at first %d, %s", count, state)
	}
	r.vote("6", "1")
	for count := int64(0); count < 2; {
		count, _ = next()
	}
	if got := r.run("poll", "close", "lunch"); !strings.Contains(got, "lunch  expired") || !strings.Contains(got, "Lunch?") {
		t.Error(got)
	}
	for state := ""; state != "expired"; {
		_, state = next()
	}
	if _, err := io.Copy(io.Discard, watching); err != nil || <-status != 0 {
		t.Error("the watcher failed", err)
	}

	if got := r.run("poll", "list", "-o", "yaml", "--status", "expired"); !strings.Contains(got, "- channel: \"1\"\n") || !strings.Contains(got, "  prompt: Lunch?\n") {
		t.Error(got)
	}
	other := []string{"poll", "create", "lunch", "--prompt", "Dinner?", "--option", "Soup", "--option", "Salad", "--replace"}
	r.refused("--keep-votes", other...)
	if got := r.run(append(other, "--keep-votes", "-o", "json")...); !strings.Contains(got, `"prompt":"Dinner?"`) || !strings.Contains(got, `"strict":true`) {
		t.Error(got)
	}
	r.run("poll", "delete", "lunch")
	r.refused("404", "poll", "decide", "lunch", "--option", "1")
	if got := r.run("poll", "list"); strings.Contains(got, "lunch") {
		t.Error(got)
	}
	r.refused("404", "poll", "close", "lunch")
	r.refused(`there is no poll "lunch"`, "poll", "results", "lunch")
	r.vote("5", "1") // which makes a poll without a configuration
	if got := r.run("poll", "results", "lunch"); !strings.Contains(got, "votes: 1") {
		t.Error(got)
	}
}

// A tie is decided by the text or the number of an option, and the decision is taken back.
func TestPollDecide(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.run("poll", "create", "lunch", "--option", "Soup", "--option", "Salad", "--option", "Cake")
	r.vote("5", "0")
	r.vote("6", "2")
	r.refused("tieBreak needs a poll that has ended", "poll", "decide", "lunch", "--option", "Soup")
	r.run("poll", "close", "lunch")
	const tie = "lunch  expired  votes: 2\nSoup         1   50.0%\nSalad        0    0.0%\nCake         1   50.0%\ntie: Soup, Cake\n"
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"poll", "results", "lunch"}, tie},
		{[]string{"poll", "decide", "lunch", "--option", "Cake"}, tie + "Cake wins by decision of the staff\n"},
		{[]string{"poll", "decide", "lunch", "--option", "0"}, tie + "Soup wins by decision of the staff\n"},
		{[]string{"poll", "results", "lunch"}, tie + "Soup wins by decision of the staff\n"},
		{[]string{"poll", "decide", "lunch", "--undo"}, tie},
	} {
		if diff := cmp.Diff(test.want, r.run(test.args...)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.args, diff)
		}
	}
	r.refused("tieBreak must be one of the options that lead", "poll", "decide", "lunch", "--option", "Salad")
	r.refused(`the poll "lunch" has no option "Pie"`, "poll", "decide", "lunch", "--option", "Pie")
	r.refused("at least one of the flags", "poll", "decide", "lunch")
	r.refused("none of the others can be", "poll", "decide", "lunch", "--option", "Soup", "--undo")
}

// A command line with a mistake fails, and says what the mistake is.
func TestMistakesOfRemoteCommands(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, want string }{
		{"poll open lunch", `unknown command "open" for "acclaim poll"`},
		{"overlay-key show", `unknown command "show" for "acclaim overlay-key"`},
		{"game stop", `unknown command "stop" for "acclaim game"`},
		{"state show", `unknown command "show" for "acclaim state"`},
		{"polls", `unknown command "polls"`},
		{"poll list --token t --server http://127.0.0.1:1", "http://127.0.0.1:1/v1 for production"},
		{"poll list --token t --server http://127.0.0.1:1/", "http://127.0.0.1:1/v1 for production"},
		{"poll list --token t --server acclaim.example/v1", "must be an address such as"},
		{"poll list --token t --server http:///v1", "must be an address such as"},
	} {
		if _, problem, status := runCommand(t, nil, strings.Fields(test.args)...); status != exitFailed || !strings.Contains(problem, test.want) {
			t.Errorf("%s: status %d, %s", test.args, status, problem)
		}
	}
	if out, _, status := runCommand(t, nil, "poll"); status != 0 || !strings.Contains(out, "acclaim poll create lunch") {
		t.Errorf("poll alone: status %d, %s", status, out)
	}
}

func TestOverlayKeyCommands(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.run("poll", "create", "lunch", "--option", "Soup")
	credential := strings.TrimSpace(r.run("overlay-key", "create", "--name", "stream PC", "--poll", "lunch", "--question", "dish", "--lifetime", "1h"))
	asOverlay := &remote{t, r.process, []string{"--token", credential}}
	asOverlay.run("poll", "results", "lunch")
	asOverlay.refused("403", "poll", "delete", "lunch")
	list := r.run("overlay-key", "list")
	if strings.Contains(list, credential) || !strings.Contains(list, "stream PC  lunch  dish") {
		t.Error(list)
	}
	id, _, _ := strings.Cut(strings.Split(list, "\n")[1], " ")
	r.run("overlay-key", "revoke", id)
	asOverlay.refused("401", "poll", "results", "lunch")
	r.refused("No such overlay key", "overlay-key", "revoke", id)
}

func TestGameCommands(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	if got := r.run("game", "list"); got != "ID  CHANNELS  CREATED  LAST USED\n" {
		t.Errorf("%q", got)
	}
	if got := strings.TrimSpace(r.run("game", "list", "-o", "json")); got != "[]" {
		t.Errorf("%q", got)
	}
	r.refused("No such game", "game", "end", "none")
}

func TestStateCommands(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	file := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(file, []byte(`{"round": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, document := range []string{"channel", "extension", "hidden", "channel-config", "extension-config"} {
		r := &remote{t, r.process, r.flags}
		if strings.HasSuffix(document, "config") {
			r.flags = append(slices.Clip(r.flags), "--role", "admin", "--user", "1000")
		}
		r.run("state", "set", document, "@"+file)
		r.run("state", "set", document, `{"winner":"Zed"}`, "--patch")
		if got, want := r.run("state", "get", document, "-o", "json"), `{"round":1,"winner":"Zed"}`+"\n"; got != want {
			t.Errorf("%s: %s", document, got)
		}
	}
	r.refused("there is no document", "state", "get", "viewer")
	r.refused("not JSON", "state", "set", "channel", "{")
	r.refused("--output must be", "state", "get", "channel", "-o", "xml")
	none := &remote{t, r.process, nil}
	none.refused("is needed", "state", "get", "channel")
	none.refused("401", "state", "get", "channel", "--token", "sample-extension x.y.z")
}
