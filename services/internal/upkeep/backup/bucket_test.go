package backup_test

import (
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/backup"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
)

// locations are new storages of each kind.
var locations = map[string]func(*testing.T) string{
	"folder": func(t *testing.T) string { return filepath.Join(t.TempDir(), "new") },
	"bucket": func(t *testing.T) string {
		location, _ := newBucket(t)
		return location
	},
}

const (
	bucketName = "backups"
	prefix     = "acclaim/production/"
)

// newBucket starts an object storage with a bucket, and gives the process what finds it.
func newBucket(t *testing.T) (location string, objects gofakes3.Backend) {
	t.Helper()
	objects = s3mem.New()
	if err := objects.CreateBucket(bucketName); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(objects).Server())
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	t.Setenv("AWS_REGION", "eu-central-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	return "s3://" + bucketName + "/" + prefix, objects
}

func keysOf(t *testing.T, objects gofakes3.Backend) (keys []string) {
	t.Helper()
	list, err := objects.ListBucket(bucketName, &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range list.Contents {
		keys = append(keys, object.Key)
	}
	return keys
}

func putObject(t *testing.T, objects gofakes3.Backend, key, content string) {
	t.Helper()
	if _, err := objects.PutObject(bucketName, key, map[string]string{}, strings.NewReader(content), int64(len(content)), &gofakes3.PutConditions{}); err != nil {
		t.Fatal(err)
	}
}

// Of a bucket the oldest backups go, and what was left unfinished a day ago; what is not a
// backup stays.
func TestPruneOfBucket(t *testing.T) {
	location, objects := newBucket(t)
	store := storeOf(t, "quiz")
	for day := range 3 {
		mustCreate(t, store, location, begin.AddDate(0, 0, day))
	}
	for _, key := range []string{"other", prefix + "notes/x", prefix + "20261123T031659Z/quiz.jsonl.gz", prefix + "20261125T031600Z/quiz.jsonl.gz"} {
		putObject(t, objects, key, "x")
	}
	removed, err := backup.Prune(t.Context(), mustOpen(t, location), 1, begin.AddDate(0, 0, 2))
	if want := []string{"20261123T031700Z", "20261124T031700Z"}; err != nil || !slices.Equal(removed, want) {
		t.Errorf("removed %q, %v, want %q", removed, err, want)
	}
	want := []string{
		prefix + "20261125T031600Z/quiz.jsonl.gz", // a process may still write it
		prefix + "20261125T031700Z/SHA256SUMS", prefix + "20261125T031700Z/quiz.jsonl.gz", prefix + "notes/x", "other",
	}
	if got := keysOf(t, objects); !slices.Equal(got, want) {
		t.Errorf("there are\n%q, want\n%q", got, want)
	}
	if names := mustList(t, location); !slices.Equal(names, []string{"20261125T031700Z"}) {
		t.Errorf("listed are %q", names)
	}
}

// A backup that fails leaves no object, and no backup before it changes.
func TestCreateInBucketFails(t *testing.T) {
	location, objects := newBucket(t)
	mustCreate(t, storeOf(t, "quiz"), location, begin)
	before := keysOf(t, objects)
	damaged := damagedStore(t)
	for name, c := range map[string]struct {
		store transfer.Source
		at    time.Time
		want  error
	}{
		"damaged": {damaged, begin.Add(time.Hour), stream.ErrDamaged},
		"empty":   {storetest.NewMemory(), begin.Add(time.Hour), backup.ErrEmptyStore},
		"twice":   {storeOf(t, "quiz"), begin, os.ErrExist},
	} {
		if _, err := backup.Create(t.Context(), c.store, mustOpen(t, location), environments, c.at); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if after := keysOf(t, objects); !slices.Equal(before, after) {
			t.Errorf("%s: there are %q", name, after)
		}
	}
}

// A bucket whose objects are not those that were written is refused.
func TestOpenRefusesBucket(t *testing.T) {
	const backupName = "20261123T031700Z"
	for name, c := range map[string]struct {
		change func(*testing.T, gofakes3.Backend)
		want   error
	}{
		"changed": {func(t *testing.T, objects gofakes3.Backend) {
			putObject(t, objects, prefix+backupName+"/quiz.jsonl.gz", "x")
		}, transfer.ErrBadFile},
		"missing": {func(t *testing.T, objects gofakes3.Backend) {
			deleteObject(t, objects, prefix+backupName+"/quiz.jsonl.gz")
		}, transfer.ErrBadFile},
		"no sums": {func(t *testing.T, objects gofakes3.Backend) {
			deleteObject(t, objects, prefix+backupName+"/SHA256SUMS")
		}, backup.ErrNoBackup},
	} {
		t.Run(name, func(t *testing.T) {
			location, objects := newBucket(t)
			mustCreate(t, storeOf(t, "quiz"), location, begin)
			c.change(t, objects)
			if _, err := backup.Open(t.Context(), mustOpen(t, location), ""); !errors.Is(err, c.want) {
				t.Errorf("error is %v, want %v", err, c.want)
			}
		})
	}
}

func deleteObject(t *testing.T, objects gofakes3.Backend, key string) {
	t.Helper()
	if _, err := objects.DeleteObject(bucketName, key); err != nil {
		t.Fatal(err)
	}
}

// An export that is larger than a part is uploaded in several, and a writer that fails in the
// second leaves nothing.
func TestUploadInParts(t *testing.T) {
	location, objects := newBucket(t)
	draft, err := mustOpen(t, location).Begin(t.Context(), "20261123T031700Z")
	if err != nil {
		t.Fatal(err)
	}
	const size = 40 << 20
	if err := draft.WriteFile(t.Context(), "large", func(w io.Writer) error {
		_, err := io.CopyN(w, zeros{}, size)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	object, err := objects.HeadObject(bucketName, prefix+"20261123T031700Z/large")
	if err != nil || object.Size != size {
		t.Fatalf("the object is %+v, %v", object, err)
	}
	failure := errors.New("the store fails")
	if err := draft.WriteFile(t.Context(), "half", func(w io.Writer) error {
		_, err := io.CopyN(w, zeros{}, size)
		return errors.Join(err, failure)
	}); !errors.Is(err, failure) {
		t.Errorf("error is %v", err)
	}
	if keys := keysOf(t, objects); len(keys) != 1 {
		t.Errorf("there are %q", keys)
	}
	if err := draft.Discard(t.Context()); err != nil || len(keysOf(t, objects)) > 0 {
		t.Errorf("after discarding there are %q, %v", keysOf(t, objects), err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A storage that does not answer as it should ends a backup with an error that names it.
func TestBadBucket(t *testing.T) {
	newBucket(t)
	if _, err := backup.Create(t.Context(), storeOf(t, "quiz"), mustOpen(t, "s3://other/x"), environments, begin); err == nil || !strings.Contains(err.Error(), "s3://other/x/: ") {
		t.Errorf("a bucket that does not exist: %v", err)
	}
	for _, endpoint := range []string{"ftp://127.0.0.1", "127.0.0.1:9000", "https://h/path", "https://%"} {
		t.Setenv("AWS_ENDPOINT_URL", endpoint)
		if _, err := backup.OpenStorage("s3://b"); err == nil || !strings.Contains(err.Error(), "endpoint") {
			t.Errorf("endpoint %q: %v", endpoint, err)
		}
	}
}
