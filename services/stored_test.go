package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	mongooptions "go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/store/pebblestore"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Each folder of testdata/stored holds what one version stored: an embedded store, the
// records of a database, an export, and the answers of a program over them. It has a
// truncated log and an erased viewer. 2026-11-22 has what is newer, too: a purged poll, a
// cleared buffer, keys of requests, messages and other documents, and 2026-11-23 a list of
// viewers, a purchase and their export. The records of the database were an export, and lack
// what exports leave out: messages and snapshots.
//
// A version that stores something in another format adds a folder and changes none:
//
//	ACCLAIM_WRITE_STORED=0.2 go test -run TestWriteStored ./services
const (
	storedFolder   = "testdata/stored"
	storedEmbedded = "embedded.zip"
	storedDatabase = "database.jsonl"
	storedExport   = "export.jsonl"
	storedAnswers  = "answers.json"
)

// This version opens, verifies and continues what each earlier one stored.
func TestStoredByEarlierVersions(t *testing.T) {
	t.Parallel()
	versions, err := filepath.Glob(filepath.Join(storedFolder, "*"))
	if err != nil || len(versions) == 0 {
		t.Fatal(versions, err)
	}
	for _, folder := range versions {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			for name, flags := range map[string]func(t *testing.T) []string{
				"embedded": func(t *testing.T) []string {
					dir := t.TempDir()
					unpackStored(t, filepath.Join(folder, storedEmbedded), dir)
					return []string{"--data-dir", dir}
				},
				"import": func(t *testing.T) []string {
					store := []string{"--data-dir", t.TempDir()}
					mustImport(t, readStored(t, folder, storedExport), store...)
					return store
				},
				"server":      func(t *testing.T) []string { return loadStored(t, folder, databases["server"](t)) },
				"replica set": func(t *testing.T) []string { return loadStored(t, folder, databases["replica set"](t)) },
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					wantStored(t, folder, flags(t))
				})
			}
		})
	}
}

// wantStored checks that a program over a store gives the answers of a folder, and goes on.
func wantStored(t *testing.T, folder string, store []string) {
	t.Helper()
	wantVerified(t, store)
	export := readStored(t, folder, storedExport)
	if diff := cmp.Diff(export, mustExport(t, append([]string{"--kind", exportedKinds(t, export)}, store...)...)); diff != "" {
		t.Errorf("the export differs (-want +got):\n%s", diff)
	}
	p := startProgram(t, t.TempDir(), "serve", store...)
	var want map[string]string
	if err := json.Unmarshal([]byte(readStored(t, folder, storedAnswers)), &want); err != nil {
		t.Fatal(err)
	}
	for asked, answer := range want { // those that the version had
		role, path, _ := strings.Cut(asked, " ")
		if diff := cmp.Diff(withoutTag(path, answer), withoutTag(path, answerTo(t, p, role, path))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", asked, diff)
		}
	}
	use(t, p)
	p.end(t)
	wantVerified(t, store)
}

// withoutTag returns an answer without the entity tag of a poll, which was a digest in earlier
// versions and is the version of the configuration now.
func withoutTag(path, answer string) string {
	if !strings.HasPrefix(path, "/poll?") {
		return answer
	}
	status, rest, _ := strings.Cut(answer, `"`)
	_, body, _ := strings.Cut(rest, `"`)
	return status + body
}

// exportedKinds returns the kinds of an export: later versions have more.
func exportedKinds(t *testing.T, export string) string {
	t.Helper()
	var header struct{ Kinds []string }
	if err := json.NewDecoder(strings.NewReader(export)).Decode(&header); err != nil {
		t.Fatal(err)
	}
	return strings.Join(header.Kinds, ",")
}

func wantVerified(t *testing.T, store []string) {
	t.Helper()
	if out, status := runVerify(t, store...); status != 0 {
		t.Errorf("verify: status %d\n%s", status, out)
	}
}

func readStored(t *testing.T, folder, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func unpackStored(t *testing.T, archive, dir string) {
	t.Helper()
	r, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if err := os.CopyFS(dir, r); err != nil {
		t.Fatal(err)
	}
}

// storedRecord is a record of a database in a dump.
type storedRecord struct {
	Collection string
	Record     json.RawMessage // extended JSON
}

// loadStored fills a database and returns the flags of programs over it.
func loadStored(t *testing.T, folder, uri string) []string {
	t.Helper()
	database := openDatabase(t, uri)
	lines := bufio.NewScanner(bytes.NewReader([]byte(readStored(t, folder, storedDatabase))))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r storedRecord
		var document bson.D
		if err := errors.Join(json.Unmarshal(lines.Bytes(), &r), bson.UnmarshalExtJSON(r.Record, true, &document)); err != nil {
			t.Fatal(err)
		}
		if _, err := database.Collection(r.Collection).InsertOne(t.Context(), document); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"--mongodb-uri", uri}
}

func openDatabase(t *testing.T, uri string) *mongo.Database {
	t.Helper()
	o := mongooptions.Client().ApplyURI(uri)
	client, err := mongo.Connect(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.WithoutCancel(t.Context())) })
	parsed, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	return client.Database(strings.TrimPrefix(parsed.Path, "/"))
}

// TestWriteStored stores the data of this version, see above.
func TestWriteStored(t *testing.T) {
	version := os.Getenv("ACCLAIM_WRITE_STORED")
	if version == "" {
		t.Skip("ACCLAIM_WRITE_STORED names no version")
	}
	dir, folder := t.TempDir(), filepath.Join(storedFolder, version)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err) // what exists stays as it is
	}
	p := startProgram(t, dir, "serve", "--data-dir", dir)
	for voter := range 5 {
		voteFor(t, p, "default", voter)
	}
	voteFor(t, p, "purged", 0)
	p.end(t)
	truncateAndPurge(t, dir)
	p = startProgram(t, dir, "serve", "--data-dir", dir)
	use(t, p)
	useMore(t, p)
	for _, c := range []struct{ path, body string }{{"/vote", `{"value":2}`}, {"/rank", `{"key":"milk"}`}} {
		if f, why := send(p, http.MethodPost, c.path, signViewer(t, leavingOpaque, leavingUser), c.body, nil); f != stored {
			t.Fatal(why)
		}
	}
	p.end(t)
	if out, status := runErase(t, "--data-dir", dir, "--opaque", leavingOpaque, "--user", leavingUser); status != 0 {
		t.Fatal(out)
	}
	write := func(name string, content []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(storedEmbedded, packStored(t, dir))
	export := mustExport(t, "--data-dir", dir)
	write(storedExport, []byte(export))
	uri := databases["server"](t)
	mustImport(t, export, "--mongodb-uri", uri)
	write(storedDatabase, dumpDatabase(t, uri))
	p = startProgram(t, dir, "serve", "--data-dir", dir)
	all := allAnswers(t, p)
	for _, path := range []string{
		"/accumulate?id=cleared", "/accumulate?id=keyed", "/vote?id=purged", "/vote?id=keyed", "/vote?id=hidden", "/vote_logs?id=keyed", "/poll?id=hidden",
		"/rank?id=keyed", "/extension_hidden_state", "/user_ids", "/coins", "/extension_state", "/json_store?id=board",
	} {
		for _, role := range []string{"viewer", "broadcaster", "backend"} {
			all[role+" "+path] = answerTo(t, p, role, path)
		}
	}
	answers, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	write(storedAnswers, append(answers, '\n'))
}

// useMore sends what use does not: requests with keys, messages, and documents that are not
// those of a state.
func useMore(t *testing.T, p *process) {
	t.Helper()
	viewer, broadcaster, backend := signViewer(t, "U9", "9"), sign(t, "broadcaster", "B"), sign(t, "backend", "S")
	for n, c := range []struct{ method, path, header, body string }{
		{"POST", "/vote_config", broadcaster, `{"id":"hidden","config":{"resultsVisibility":"afterClose","showCount":true,"loggedInOnly":true,"prompt":"?","options":["a","b"]}}`},
		{"POST", "/vote?id=hidden", viewer, `{"value":1}`},
		{"POST", "/vote?id=keyed", viewer, `{"value":1}`},
		{"POST", "/votes?id=keyed", backend, `{"votes":[{"opaque_user_id":"V1","value":2},{"opaque_user_id":"W1","value":3}]}`},
		{"POST", "/vote_modifier?id=keyed", broadcaster, `{"user":"V1","add":1}`},
		{"POST", "/accumulate?id=keyed", viewer, `{"n":1}`},
		{"POST", "/rank?id=keyed", viewer, `{"key":"tea"}`},
		{"PATCH", "/extension_state", backend, `{"keyed":true}`},
		{"POST", "/broadcast", broadcaster, `{"event":"tick","data":1}`},
		{"POST", "/broadcast", backend, `{"event":"hint","data":2,"target":"whisper-U9"}`},
		{"POST", "/extension_broadcast", backend, `{"event":"tock","data":3}`},
		{"POST", "/datastream", viewer, `{"x":1}`},
		{"POST", "/extension_hidden_state", backend, `{"seed":7}`},
		{"POST", "/json_store?id=board", backend, `{"scores":[1,2]}`},
		{"POST", "/config/channel", broadcaster, `{"skus":{"life":{"price":0}}}`},
		{"POST", "/coins/purchase", viewer, `{"sku":"life","price":0}`},
		{"POST", "/overlay_keys", broadcaster, `{}`},
		{"POST", "/gamelink/pin", broadcaster, `{}`},
	} {
		if status, answer := sendOnce(t.Context(), p.base, c.method, c.path, c.header, fmt.Sprint("stored-", n), c.body); status != http.StatusOK {
			t.Fatalf("%s %s: %d %s", c.method, c.path, status, answer)
		}
	}
}

// truncateAndPurge truncates the logs of all polls in a data folder, and purges one.
func truncateAndPurge(t *testing.T, dir string) {
	t.Helper()
	store, err := pebblestore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := tenant.Parse([]byte(readStored(t, filepath.Dir(registryFile()), filepath.Base(registryFile()))))
	if err != nil {
		t.Fatal(err)
	}
	polls := voting.NewService(store, stream.SystemClock(), stream.Options{})
	domains := admin.Domains{voting.Kind: admin.NewDomain(polls.Rewriting(), func(tenant.Retention) time.Duration { return time.Hour })}
	worker := admin.NewRetentionWorker(store, domains, func() *tenant.Registry { return parsed }, laterClock{}, slog.New(slog.DiscardHandler))
	if err := worker.RunOnce(t.Context(), true); err != nil || worker.Stats().Chunks == 0 {
		t.Fatalf("%+v, %v", worker.Stats(), err)
	}
	purges := admin.NewPurgeService(store, domains, nil, laterClock{}.Now)
	filter := admin.PurgeFilter{Extension: sampleExtension, Environment: tenant.Production, Prefix: "purged", OlderThan: time.Hour}
	if report, err := purges.Purge(t.Context(), filter, func(int) {}); err != nil || report.Total().Found != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if err := errors.Join(polls.Close(t.Context()), store.Close()); err != nil {
		t.Fatal(err)
	}
}

func packStored(t *testing.T, dir string) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			return err
		}
		to, err := w.Create(path)
		if err != nil {
			return err
		}
		_, err = to.Write(content)
		return err
	})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// dumpDatabase returns a line of JSON for each record, but for those of the processes.
func dumpDatabase(t *testing.T, uri string) []byte {
	t.Helper()
	var dump bytes.Buffer
	database := openDatabase(t, uri)
	for _, collection := range []string{"chunks", "snapshots", "snapshot_parts", "documents"} {
		cursor, err := database.Collection(collection).Find(t.Context(), bson.D{}, mongooptions.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
		if err != nil {
			t.Fatal(err)
		}
		var records []bson.D
		if err := cursor.All(t.Context(), &records); err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			encoded, err := bson.MarshalExtJSON(r, true, false)
			if err != nil {
				t.Fatal(err)
			}
			line, err := json.Marshal(storedRecord{collection, encoded})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = fmt.Fprintf(&dump, "%s\n", line)
		}
	}
	return dump.Bytes()
}
