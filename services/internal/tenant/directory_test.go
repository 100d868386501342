package tenant_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

const (
	oneExtension  = "extensions: [{clientID: one, secrets: [{value: b25lLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}]}]"
	twoExtensions = "extensions: [{clientID: one, secrets: [{value: b25lLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}]}, {clientID: two, secrets: [{value: dHdvLWtleS1vZi1tb3JlLXRoYW4tMzItYnl0ZXMtMDEyMzQ1Ng==}]}]"
)

// watched is a directory under watch; the channel receives what it reports.
func watched(t *testing.T, path string) (*tenant.Directory, <-chan error) {
	t.Helper()
	directory, err := tenant.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	reloaded, done := make(chan error, 16), make(chan error)
	go func() { done <- directory.Watch(ctx, func(err error) { reloaded <- err }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Watch: %v", err)
		}
	})
	return directory, reloaded
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// replace puts a file in place of the one at path, as one step.
func replace(t *testing.T, path, text string) {
	t.Helper()
	written := filepath.Join(t.TempDir(), "written")
	write(t, written, text)
	if err := os.Rename(written, path); err != nil {
		t.Fatal(err)
	}
}

// hasTwo reports whether the extension "two" is registered.
func hasTwo(directory *tenant.Directory) bool {
	_, ok := directory.Registry().ByClientID("two")
	return ok
}

func TestReloadKeepsLastGood(t *testing.T) {
	path := filepath.Join(t.TempDir(), "extensions.yaml")
	write(t, path, oneExtension)
	directory, reloaded := watched(t, path)

	replace(t, path, twoExtensions)
	if err := <-reloaded; err != nil || !hasTwo(directory) {
		t.Fatalf("good file: error %v, second extension known: %v", err, hasTwo(directory))
	}
	replace(t, path, "extensions: [{}]")
	if err := <-reloaded; err == nil || !hasTwo(directory) {
		t.Fatalf("bad file: error %v, second extension known: %v", err, hasTwo(directory))
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := <-reloaded; err == nil || !hasTwo(directory) {
		t.Fatalf("no file: error %v, second extension known: %v", err, hasTwo(directory))
	}
	replace(t, path, oneExtension)
	if err := <-reloaded; err != nil || hasTwo(directory) {
		t.Fatalf("good file again: error %v, second extension known: %v", err, hasTwo(directory))
	}
}

func TestReloadAfterWriteInPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "extensions.yaml")
	write(t, path, oneExtension)
	directory, reloaded := watched(t, path)

	write(t, path, twoExtensions)
	for !hasTwo(directory) {
		if err := <-reloaded; err != nil {
			t.Log("seen half-written:", err) // which may happen, and is put right
		}
	}
}

// A mounted ConfigMap or Secret: the file is a link into ..data, itself a link
// to a folder, and an update swaps ..data.
func TestReloadAfterMountSwap(t *testing.T) {
	folder := t.TempDir()
	mount := func(version, text string) {
		if err := os.Mkdir(filepath.Join(folder, version), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, version, "extensions.yaml"), text)
		if err := os.Symlink(version, filepath.Join(folder, "..data_tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(folder, "..data_tmp"), filepath.Join(folder, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	mount("..1", oneExtension)
	path := filepath.Join(folder, "extensions.yaml")
	if err := os.Symlink("..data/extensions.yaml", path); err != nil {
		t.Fatal(err)
	}
	directory, reloaded := watched(t, path)

	mount("..2", twoExtensions)
	if err := <-reloaded; err != nil || !hasTwo(directory) {
		t.Fatalf("error %v, second extension known: %v", err, hasTwo(directory))
	}
}

func TestChangeBetweenOpenAndWatchIsSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "extensions.yaml")
	write(t, path, oneExtension)
	directory, err := tenant.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, twoExtensions)
	ctx, cancel := context.WithCancel(t.Context())
	if err := directory.Watch(ctx, func(error) { cancel() }); err != nil || !hasTwo(directory) {
		t.Errorf("error %v, second extension known: %v", err, hasTwo(directory))
	}
}

func TestOpenRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "extensions.yaml")
	if _, err := tenant.Open(path, nil); err == nil {
		t.Error("a missing file is accepted")
	}
	write(t, path, "extensions: [{}]")
	if _, err := tenant.Open(path, nil); err == nil {
		t.Error("a bad file is accepted")
	}
}
