package main

import (
	"errors"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	mongooptions "go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/store/pebblestore"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// fillStore runs a program, stores something of every kind, and ends it.
func fillStore(t *testing.T, dir string, flags ...string) {
	t.Helper()
	p := startProgram(t, dir, "serve", flags...)
	viewer, broadcaster := sign(t, "viewer", "U1"), sign(t, "broadcaster", "B")
	for _, c := range []struct{ method, path, header, body string }{
		{http.MethodPost, "/vote", viewer, `{"value":3}`},
		{http.MethodPost, "/vote", viewer, `{"value":5}`},
		{http.MethodPost, "/accumulate", viewer, `{"a":1}`},
		{http.MethodPost, "/rank", viewer, `{"key":"tea"}`},
		{http.MethodPost, "/rank_config?id=q", broadcaster, `{"normalization":"nfkc","holdAnswers":true,"answersPerViewer":4}`},
		{http.MethodPost, "/rank?id=q", viewer, `{"key":"Shown"}`},
		{http.MethodPost, "/rank?id=q", viewer, `{"key":"held"}`},
		{http.MethodPost, "/rank?id=q", viewer, `{"key":"hidden"}`},
		{http.MethodPost, "/rank?id=q", viewer, `{"key":"merged"}`},
		{http.MethodPost, "/rank_moderation?id=q", broadcaster, `{"action":"hide","key":"hidden"}`},
		{http.MethodPost, "/rank_moderation?id=q", broadcaster, `{"action":"merge","key":"merged","into":"shown"}`},
		{http.MethodPatch, "/channel_state", broadcaster, `{"a":1}`},
		{http.MethodPost, "/broadcast", broadcaster, `{"event":"goal","data":1}`},
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

// runVerify returns the output of the command and its exit code.
func runVerify(t *testing.T, flags ...string) (out string, status int) {
	t.Helper()
	out, _, status = runCommand(t, nil, append([]string{"verify"}, flags...)...)
	return out, status
}

func TestVerifySoundStores(t *testing.T) {
	t.Parallel()
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
		for _, want := range []string{"poll       1       2        2", "buffer       1       1        1", "rank       2       8        8", "message       1       1        1", "document"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", name, want, out)
			}
		}
	}
}

// Verification names a chunk that something else than the program changed.
func TestVerifyFindsAChangedChunk(t *testing.T) {
	t.Parallel()
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
	if status != exitProblems || !strings.Contains(out, "poll / production / sample-extension / channel / 1 / default\n") ||
		!strings.Contains(out, "chunk 2 does not continue chunk 1") {
		t.Errorf("status %d\n%s", status, out)
	}
	if out, _ = runVerify(t, "--mongodb-uri", uri, "--json"); !strings.Contains(out, `"problems":[{"name":"poll / production`) {
		t.Errorf("as JSON: %s", out)
	}
}

// Verification names each sort of damage in the embedded store; none hides another.
func TestVerifyNamesEveryProblem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fillStore(t, dir)
	damage(t, dir)
	out, status := runVerify(t, "--data-dir", dir)
	if status != exitProblems {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{
		"\npoll / production / sample-extension / channel / 1 / default\n  ", "chunk 3 does not continue chunk 2",
		"\nbuffer / ", "the snapshot was taken at chunk 9, the log ends at 1",
		"\nodd / stream\n  no service has streams of this kind\n",
		"\nodd / document\n  the document is not a JSON object\n",
		"\nmessage / production / x / global\n  ",
		"/ at / poll / production / sample-extension / channel / 1 / gone\n  its position is 1, but poll / production",
		"/ at / document / production / sample-extension / state / channel / 1\n  its position is 2, but document / production",
		"/ at / message / production / sample-extension / global\n  json: cannot unmarshal string",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "\nrank / ") || strings.Contains(out, "/ at / poll / production / sample-extension / channel / 1 / default") || strings.Contains(out, "birth") {
		t.Errorf("a sound stream is named in\n%s", out)
	}
}

// damage writes invalid records into the store.
func damage(t *testing.T, dir string) {
	t.Helper()
	s, err := pebblestore.OpenExisting(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, listErr := range s.Streams(t.Context(), "") {
		err = errors.Join(err, listErr)
		switch {
		case strings.HasPrefix(name, voting.Kind+"/"):
			err = errors.Join(err, s.Append(t.Context(), stream.Chunk{Stream: name, Seq: 3, At: math.MaxInt64}))
		case strings.HasPrefix(name, accumulation.Kind+"/"):
			snapshot := stream.Snapshot{Head: stream.Head{Seq: 9}, Format: 1}
			err = errors.Join(err, s.SaveSnapshot(t.Context(), name, snapshot))
		}
	}
	err = errors.Join(err,
		s.Append(t.Context(), stream.Chunk{Stream: "odd/stream", Seq: 1}),
		s.Put(t.Context(), document.Write{Key: "odd/document", Body: []byte("[]")}),
		s.Append(t.Context(), stream.Chunk{Stream: message.Kind + "/production/x/global", Seq: 1, Prev: stream.Digest{1}}),
		putPosition(t, s, "poll/production/sample-extension/channel/1/default", `{"head":2}`),
		putPosition(t, s, "poll/production/sample-extension/channel/1/gone", `{"head":1}`),
		putPosition(t, s, "document/production/sample-extension/state/channel/1", `{"head":2}`),
		putPosition(t, s, "birth", `{"head":0}`),
		putPosition(t, s, "message/production/sample-extension/global", `{"head":"1"}`),
		s.Close())
	if err != nil {
		t.Fatal(err)
	}
}

// putPosition stores the position of a sink.
func putPosition(t *testing.T, s *pebblestore.Store, subject, body string) error {
	return s.Put(t.Context(), document.Write{Key: "sink/production/sample-extension/hook/webhook/at/" + subject, Body: []byte(body)})
}

func TestVerifyOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	missing := filepath.Join(empty, "nowhere")
	for name, flags := range map[string][]string{
		"missing":  {"--data-dir", missing},
		"no store": {"--data-dir", empty},
		"flag":     {"--nonsense"},
		"argument": {"--data-dir", empty, "nonsense"},
	} {
		if out, status := runVerify(t, flags...); status != exitFailed {
			t.Errorf("%s: status %d\n%s", name, status, out)
		}
	}
	if made, err := os.ReadDir(empty); err != nil || len(made) != 0 {
		t.Errorf("verify has made %v, %v", made, err)
	}
}
