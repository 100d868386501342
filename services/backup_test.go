package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

func mustBackUp(t *testing.T, folder string, flags ...string) string {
	t.Helper()
	out, problem, status := runCommand(t, nil, append([]string{"backup", folder}, flags...)...)
	if status != 0 {
		t.Fatalf("backup: status %d\n%s%s", status, out, problem)
	}
	return out
}

func mustRestore(t *testing.T, folder string, flags ...string) string {
	t.Helper()
	out, problem, status := runCommand(t, nil, append([]string{"restore", folder}, flags...)...)
	if status != 0 {
		t.Fatalf("restore: status %d\n%s%s", status, out, problem)
	}
	return out
}

// A database is backed up while it is in use and lost afterwards. What is restored is
// sound, answers the same and accepts commands. This is the drill of docs/backup.md.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	for name, start := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lost, restored := []string{"--mongodb-uri", start(t)}, []string{"--mongodb-uri", mongotest.Start(t)}
			folder := filepath.Join(t.TempDir(), "backups", "production")
			p := startProgram(t, t.TempDir(), "serve", lost...)
			use(t, p)
			want := allAnswers(t, p)
			if out := mustBackUp(t, folder, append(lost, "--keep=3")...); !strings.Contains(out, "extensions: 1, streams: 7, ") {
				t.Errorf("backup says\n%s", out)
			}
			p.end(t)

			if out := mustRestore(t, folder, restored...); !strings.Contains(out, "poll       3       9        9") {
				t.Errorf("restore says\n%s", out)
			}
			if out := mustRestore(t, folder, restored...); !strings.Contains(out, "stored chunks: 0, documents: 0\n") {
				t.Errorf("the same restore again says\n%s", out)
			}
			if out, status := runVerify(t, restored...); status != 0 {
				t.Errorf("verify: status %d\n%s", status, out)
			}
			p = startProgram(t, t.TempDir(), "serve", restored...)
			if diff := cmp.Diff(want, allAnswers(t, p)); diff != "" {
				t.Errorf("answers (-lost +restored):\n%s", diff)
			}
			use(t, p)
			p.end(t)
		})
	}
}

// The same into object storage.
func TestBackupToBucket(t *testing.T) {
	objects := s3mem.New()
	if err := objects.CreateBucket("backups"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(objects).Server())
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret",
	} {
		t.Setenv(name, value)
	}
	lost, restored := t.TempDir(), t.TempDir()
	fillStore(t, lost)
	mustBackUp(t, "s3://backups/acclaim", "--data-dir", lost, "--keep=1")
	mustRestore(t, "s3://backups/acclaim", "--data-dir", restored)
	if diff := cmp.Diff(mustExport(t, "--data-dir", lost), mustExport(t, "--data-dir", restored)); diff != "" {
		t.Errorf("exports (-lost +restored):\n%s", diff)
	}
}

func TestBackupsThatFail(t *testing.T) {
	t.Parallel()
	dir, damaged, empty, folder := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	fillStore(t, dir)
	mustImport(t, mustExport(t, "--data-dir", dir), "--data-dir", damaged)
	damage(t, damaged)
	p := startProgram(t, empty, "serve")
	p.end(t)
	if out := mustBackUp(t, folder, "--data-dir", empty, "--keep=1"); !strings.Contains(out, "nothing is stored") {
		t.Errorf("the backup of a new store says\n%s", out)
	}
	out := mustBackUp(t, folder, "--data-dir", dir, "--keep=1")
	for name, c := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"damaged":           {[]string{"backup", folder, "--data-dir", damaged, "--keep=1"}, exitProblems, sampleExtension},
		"emptied":           {[]string{"backup", folder, "--data-dir", empty, "--keep=1"}, exitProblems, "the store is empty"},
		"no store":          {[]string{"backup", folder, "--data-dir", filepath.Join(dir, "nowhere")}, exitFailed, "nowhere"},
		"no folder":         {[]string{"backup", "--data-dir", dir}, exitFailed, "accepts 1 arg"},
		"fewer than none":   {[]string{"backup", folder, "--data-dir", dir, "--keep=-1"}, exitFailed, "--keep"},
		"environment":       {[]string{"backup", folder, "--data-dir", dir, "--environment=moon"}, exitFailed, "moon"},
		"nothing to read":   {[]string{"restore", t.TempDir(), "--data-dir", t.TempDir()}, exitFailed, "has none"},
		"no such backup":    {[]string{"restore", folder, "--data-dir", t.TempDir(), "--name=x"}, exitFailed, "there is no such backup"},
		"no such extension": {[]string{"restore", folder, "--data-dir", t.TempDir(), "--extension=x"}, exitFailed, sampleExtension},
		"something else":    {[]string{"restore", folder, "--data-dir", damaged}, exitProblems, "goes on with chunk 3"},
	} {
		if out, problem, status := runCommand(t, nil, c.args...); status != c.status || !strings.Contains(problem, c.want) {
			t.Errorf("%s: status %d, want %d and %q\n%s%s", name, status, c.status, c.want, out, problem)
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 || !strings.Contains(out, left[0].Name()) {
		t.Errorf("the backups are %v, %v", left, err)
	}
	if out := mustRestore(t, folder, "--data-dir", t.TempDir(), "--extension", sampleExtension); !strings.Contains(out, "restored "+filepath.Base(mustGlob(t, folder, "*"))+"\n") {
		t.Errorf("restore says\n%s", out)
	}
	if err := os.Truncate(mustGlob(t, folder, "*", "*.gz"), 100); err != nil {
		t.Fatal(err)
	}
	if _, problem, status := runCommand(t, nil, "restore", folder, "--data-dir", t.TempDir()); status != exitProblems || !strings.Contains(problem, "was changed") {
		t.Errorf("a changed backup: status %d\n%s", status, problem)
	}
}

// mustGlob returns the only file that a pattern matches.
func mustGlob(t *testing.T, pattern ...string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q are %q, %v", pattern, files, err)
	}
	return files[0]
}
