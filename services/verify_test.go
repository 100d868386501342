package main

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	mongooptions "go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/mongotest"
)

// fillStore lets a program store some of everything, and ends it.
func fillStore(t *testing.T, dir string, flags ...string) {
	t.Helper()
	p := startProgram(t, dir, "serve", flags...)
	viewer, broadcaster := sign(t, "viewer", "U1"), sign(t, "broadcaster", "B")
	for _, c := range []struct{ method, path, header, body string }{
		{http.MethodPost, "/vote", viewer, `{"value":3}`},
		{http.MethodPost, "/vote", viewer, `{"value":5}`},
		{http.MethodPost, "/accumulate", viewer, `{"a":1}`},
		{http.MethodPost, "/rank", viewer, `{"key":"tea"}`},
		{http.MethodPatch, "/channel_state", broadcaster, `{"a":1}`},
	} {
		if f, why := send(p, c.method, c.path, c.header, c.body, nil); f != stored {
			t.Fatalf("%s %s: %s", c.method, c.path, why)
		}
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// runVerify returns what the command prints and with what status it would exit.
func runVerify(t *testing.T, flags ...string) (out string, status int) {
	t.Helper()
	var buf bytes.Buffer
	command := newCommand()
	command.SetOut(&buf)
	command.SetErr(&bytes.Buffer{})
	command.SetArgs(append([]string{"verify"}, flags...))
	if err := command.ExecuteContext(t.Context()); err != nil {
		status = statusOf(err)
	}
	return buf.String(), status
}

func TestVerifySoundStores(t *testing.T) {
	uri := mongotest.Start(t)
	dir := t.TempDir()
	fillStore(t, t.TempDir(), "--mongodb-uri", uri)
	fillStore(t, dir)
	for name, flags := range map[string][]string{
		"embedded": {"--data-dir", dir},
		"database": {"--mongodb-uri", uri},
	} {
		out, status := runVerify(t, flags...)
		if status != 0 {
			t.Errorf("%s: status %d\n%s", name, status, out)
		}
		for _, want := range []string{"poll       1       2        2", "buffer       1       1        1", "rank       1       1        1", "document"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", name, want, out)
			}
		}
	}
}

// A chunk that was changed behind the program's back is named.
func TestVerifyFindsAChangedChunk(t *testing.T) {
	uri := mongotest.Start(t)
	fillStore(t, t.TempDir(), "--mongodb-uri", uri)
	client, err := mongo.Connect(mongooptions.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	database := client.Database(uri[strings.LastIndex(uri, "/")+1:])
	changed, err := database.Collection("chunks").UpdateOne(t.Context(),
		bson.D{{Key: "_id", Value: "poll/production/sample-extension/channel/1/default#00000000000000000001"}},
		bson.D{{Key: "$inc", Value: bson.D{{Key: "at", Value: -1}}}})
	if err != nil || changed.ModifiedCount != 1 {
		t.Fatalf("changed %+v, %v", changed, err)
	}
	if err := client.Disconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, status := runVerify(t, "--mongodb-uri", uri)
	if status != statusProblems || !strings.Contains(out, "poll / production / sample-extension / channel / 1 / default\n") ||
		!strings.Contains(out, "chunk 2 does not continue chunk 1") {
		t.Errorf("status %d\n%s", status, out)
	}
	if out, _ = runVerify(t, "--mongodb-uri", uri, "--json"); !strings.Contains(out, `"problems":[{"name":"poll / production`) {
		t.Errorf("as JSON: %s", out)
	}
}

func TestVerifyOfWhatCannotBeRead(t *testing.T) {
	used := t.TempDir()
	startProgram(t, used, "serve")
	missing := filepath.Join(t.TempDir(), "nowhere")
	for name, dir := range map[string]string{"in use": used, "missing": missing} {
		if out, status := runVerify(t, "--data-dir", dir); status != statusUnreadable {
			t.Errorf("%s: status %d\n%s", name, status, out)
		}
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("verify has made a store: %v", err)
	}
}
