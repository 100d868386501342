package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	mongooptions "go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// The ids of the viewer to erase. The tests search all stored bytes for them.
const (
	leavingOpaque = "U-leaving-viewer"
	leavingUser   = "4242424242424242"
)

func signViewer(t *testing.T, opaque, user string) string {
	t.Helper()
	return signGrant(t, sandbox.Grant{Role: "viewer", ChannelID: "1", OpaqueID: opaque, UserID: user})
}

// populate sends every command that a viewer can send, for two viewers.
func populate(t *testing.T, p *process) {
	t.Helper()
	broadcaster := sign(t, "broadcaster", "B")
	leaving, staying := signViewer(t, leavingOpaque, leavingUser), signViewer(t, "U-staying", "77")
	for _, c := range []struct{ method, path, header, body string }{
		{http.MethodPost, "/vote_config", broadcaster, `{"id":"multi","config":{"totalVotesPerUser":5,"votesPerOption":5,"userIDVoting":true}}`},
		{http.MethodPost, "/vote", leaving, `{"value":3}`},
		{http.MethodPost, "/vote", staying, `{"value":4}`},
		{http.MethodPost, "/vote", leaving, `{"value":5}`},
		{http.MethodPost, "/vote?id=multi", leaving, `{"value":2,"count":3}`},
		{http.MethodPost, "/vote_modifier?id=multi", sign(t, "backend", ""), `{"user":"` + leavingUser + `","add":3}`},
		{http.MethodPost, "/vote?id=multi", leaving, `{"value":2,"count":2}`},
		{http.MethodPost, "/accumulate", leaving, `{"a":1}`},
		{http.MethodPost, "/accumulate", staying, `{"a":2}`},
		{http.MethodPost, "/rank", leaving, `{"key":"tea"}`},
		{http.MethodPost, "/rank", staying, `{"key":"coffee"}`},
		{http.MethodPost, "/rank", leaving, `{"key":"milk"}`},
		{http.MethodPost, "/whisper_self", leaving, `{"event":"hint","data":1}`},
		{http.MethodPatch, "/viewer_state", leaving, `{"a":1}`},
		{http.MethodPatch, "/viewer_state", leaving, `{"a":2}`},
		{http.MethodPatch, "/extension_viewer_state", leaving, `{"b":1}`},
		{http.MethodPatch, "/extension_viewer_state", staying, `{"b":2}`},
	} {
		if f, why := send(p, c.method, c.path, c.header, c.body, nil); f != stored {
			t.Fatalf("%s %s: %s", c.method, c.path, why)
		}
	}
}

// answers returns the answers to everything that the other viewers can read.
func answers(t *testing.T, p *process) map[string]any {
	t.Helper()
	all := map[string]any{}
	for path, header := range map[string]string{
		"/vote":                   signViewer(t, "U-staying", "77"),
		"/vote?id=multi":          sign(t, "viewer", "U-nobody"),
		"/rank":                   sign(t, "backend", ""),
		"/extension_viewer_state": signViewer(t, "U-staying", "77"),
		"/accumulate":             sign(t, "backend", ""),
		"/vote_logs":              sign(t, "backend", ""),
		"/vote_logs?id=multi":     sign(t, "backend", ""),
	} {
		var answer any
		if f, why := send(p, http.MethodGet, path, header, "", &answer); f != stored {
			t.Fatalf("%s: %s", path, why)
		}
		all[path] = anonymous(answer)
	}
	return all
}

// anonymous blanks the ids of the erased viewer, and the names that replace them.
func anonymous(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = anonymous(v[name])
		}
	case []any:
		for i := range v {
			v[i] = anonymous(v[i])
		}
	case string:
		if v == leavingOpaque || v == leavingUser || strings.HasPrefix(v, "erased-") {
			return "anonymous"
		}
	}
	return v
}

// runErase returns the output of the command and its exit code.
func runErase(t *testing.T, args ...string) (out string, status int) {
	t.Helper()
	out, problem, status := runCommand(t, nil, append([]string{"erase", "--extension", sampleExtension}, args...)...)
	return out + problem, status
}

// wantGone checks that no answer contains data of the erased viewer, that all other
// answers are as before, and that the viewer can start again.
func wantGone(t *testing.T, p *process, before map[string]any) {
	t.Helper()
	if diff := cmp.Diff(before, answers(t, p)); diff != "" {
		t.Errorf("what is told has changed (-before +after):\n%s", diff)
	}
	leaving := signViewer(t, leavingOpaque, leavingUser)
	for _, path := range []string{"/viewer_state", "/extension_viewer_state"} {
		var state map[string]any
		if f, why := send(p, http.MethodGet, path, leaving, "", &state); f != stored || len(state) > 0 {
			t.Errorf("%s is %v %s", path, state, why)
		}
	}
	for _, path := range []string{"/vote", "/vote?id=multi"} {
		var tally struct{ Vote *int }
		if f, why := send(p, http.MethodGet, path, leaving, "", &tally); f != stored || tally.Vote != nil {
			t.Errorf("%s knows the viewer's vote still %s", path, why)
		}
	}
}

func TestEraseEmbedded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startProgram(t, dir, "serve")
	populate(t, p)
	before := answers(t, p)
	if _, status := runErase(t, "--data-dir", dir, "--user", leavingUser); status != exitFailed {
		t.Errorf("the store is in use, the status is %d", status)
	}
	p.end(t)
	if !holds(t, dir, leavingOpaque) || !holds(t, dir, leavingUser) {
		t.Fatal("the ids are not there to begin with")
	}
	out, status := runErase(t, "--data-dir", dir, "--user", leavingUser, "--only")
	if status != 0 || !strings.Contains(out, `which are not erased: ["`+leavingOpaque+`"]`) {
		t.Errorf("status %d, want the other id named\n%s", status, out)
	}
	if !holds(t, dir, leavingOpaque) || holds(t, dir, leavingUser) {
		t.Error("not exactly the given id is erased")
	}
	if out, status = runErase(t, "--data-dir", dir, "--opaque", leavingOpaque); status != 0 {
		t.Errorf("status %d\n%s", status, out)
	}
	if holds(t, dir, leavingOpaque) || holds(t, dir, leavingUser) {
		t.Error("the file holds the ids still")
	}
	out, status = runVerify(t, "--data-dir", dir, "--json")
	if status != 0 || strings.Count(out, `"redacted":0,`) != 2 { // only documents and the records of erasures have none
		t.Errorf("verify: status %d\n%s", status, out)
	}
	wantGone(t, startProgram(t, dir, "serve"), before)
}

// holds reports whether a file in a folder contains the text.
func holds(t *testing.T, dir, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no files", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return holds(t, dir, text) // the running program has replaced it
		}
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(text)) {
			return true
		}
	}
	return false
}

// ask sends an erasure request to the admin listener.
func ask(t *testing.T, p *process, header, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, p.admin+"/erase", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", header)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	read, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(read)
}

const leavingBody = `{"opaqueID":"` + leavingOpaque + `","userID":"` + leavingUser + `","dropData":false}`

func TestEraseInARunningProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startProgram(t, dir, "serve")
	populate(t, p)
	before := answers(t, p)
	backend := sign(t, "backend", "")
	for _, refused := range []struct {
		header, body string
		status       int
	}{
		{"", leavingBody, http.StatusUnauthorized},
		{sign(t, "viewer", leavingOpaque), leavingBody, http.StatusForbidden},
		{sign(t, "admin", "X"), leavingBody, http.StatusForbidden},
		{backend, `{}`, http.StatusBadRequest},
		{backend, `{"userID":42}`, http.StatusBadRequest},
		{backend, `{"userID":"1","dropData":1}`, http.StatusBadRequest},
		{backend, `{"userID":"1","only":1}`, http.StatusBadRequest},
		{backend, leavingBody[1:], http.StatusBadRequest},
	} {
		if status, answer := ask(t, p, refused.header, refused.body); status != refused.status {
			t.Errorf("%s: status %d, want %d: %s", refused.body, status, refused.status, answer)
		}
	}
	if f, _ := send(p, http.MethodPost, "/erase", backend, leavingBody, nil); f != refused {
		t.Error("the public listener erases")
	}
	status, answer := ask(t, p, backend, `{"userID":"`+leavingUser+`"}`)
	if status != http.StatusOK || !strings.Contains(answer, `"followed":["`+leavingOpaque+`"],"linked":[],`) ||
		!strings.Contains(answer, `"message":{"searched":1,"found":1,"chunks":1,"entries":1}`) || !strings.Contains(answer, `"poll":{"searched":2,"found":2,`) || !strings.Contains(answer, `"document":{"searched":3,"found":2,`) {
		t.Errorf("status %d, %s", status, answer)
	}
	if holds(t, dir, leavingOpaque) || holds(t, dir, leavingUser) {
		t.Error("the files hold the ids still")
	}
	wantGone(t, p, before)
	p.end(t)
	if out, status := runVerify(t, "--data-dir", dir); status != 0 {
		t.Errorf("verify: status %d\n%s", status, out)
	}
	wantGone(t, startProgram(t, dir, "serve"), before)
}

// Two programs share a database. Both receive votes while the viewer is erased by
// one of them, by the other, and by the command.
func TestEraseWhileVotesArrive(t *testing.T) {
	t.Parallel()
	uri := mongotest.Start(t)
	f := startFleet(t, []string{mongotest.WithLongTimeouts(uri)}, 2)
	populate(t, f.any(0))
	before := answers(t, f.any(1))
	const voters, rounds = 8, 12
	var all sync.WaitGroup
	for v := range voters {
		all.Go(func() {
			for i := range rounds {
				header := signViewer(t, fmt.Sprintf("U-%d-%d", v, i), "")
				if f, why := send(f.any(v+i), http.MethodPost, "/vote?id=busy", header, `{"value":1}`, nil); f != stored {
					t.Errorf("a vote failed: %s", why)
				}
			}
		})
	}
	if f, why := send(f.any(0), http.MethodPost, "/vote?id=busy", signViewer(t, leavingOpaque, leavingUser), `{"value":1}`, nil); f != stored {
		t.Fatal(why)
	}
	for i := range 2 {
		all.Go(func() {
			if status, answer := ask(t, f.any(i), sign(t, "backend", ""), leavingBody); status != http.StatusOK {
				t.Errorf("status %d, %s", status, answer)
			}
		})
	}
	if out, status := runErase(t, "--mongodb-uri", mongotest.WithLongTimeouts(uri),
		"--opaque", leavingOpaque, "--user", leavingUser); status != 0 {
		t.Errorf("status %d\n%s", status, out)
	}
	all.Wait()
	// Before the viewer comes again: GET /user_ids then has the user id once more.
	for _, id := range []string{leavingOpaque, leavingUser} {
		if where := collectionsWith(t, uri, id); len(where) > 0 {
			t.Errorf("%s is in %v still", id, where)
		}
	}
	for i := range 2 {
		wantGone(t, f.any(i), before)
		var tally struct{ Count int }
		if f, why := send(f.any(i), http.MethodGet, "/vote?id=busy", sign(t, "backend", ""), "", &tally); f != stored || tally.Count != voters*rounds+1 {
			t.Errorf("%d votes are counted, want %d %s", tally.Count, voters*rounds+1, why)
		}
	}
	if out, status := runVerify(t, "--mongodb-uri", uri); status != 0 {
		t.Errorf("verify: status %d\n%s", status, out)
	}
}

// collectionsWith returns the collections that contain the text.
func collectionsWith(t *testing.T, uri, text string) (where []string) {
	t.Helper()
	ctx := t.Context()
	client, err := mongo.Connect(mongooptions.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }()
	database := client.Database(uri[strings.LastIndex(uri, "/")+1:])
	names, err := database.ListCollectionNames(ctx, bson.D{})
	if err != nil || len(names) < 4 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		cursor, err := database.Collection(name).Find(ctx, bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		var records []bson.Raw
		if err := cursor.All(ctx, &records); err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if bytes.Contains(r, []byte(text)) {
				where = append(where, name)
			}
		}
	}
	return where
}
