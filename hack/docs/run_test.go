package docs

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// blockTimeout limits one block.
const blockTimeout = time.Minute

// prelude fails a block on the first command that fails or is refused, and ends a
// stream of events after two seconds.
const prelude = `set -euo pipefail
curl() {
	case " $* " in
	*" -N "*) command curl --silent --show-error --fail --max-time 2 "$@" || [[ $? == 28 ]] ;;
	*) command curl --silent --show-error --fail-with-body "$@" ;;
	esac
}
token() { acclaim token --extension sample-extension --channel 1 "$@"; }
VIEWER=$(token --role viewer --user 42) BACKEND=$(token --role backend) BROADCASTER=$(token --role broadcaster --user 1)
API=` + apiAddress + "\n"

// testRun runs the blocks that are marked, in the order of the documents.
func testRun(t *testing.T, program string, blocks []block) {
	var marked []block
	for _, b := range blocks {
		if b.run {
			marked = append(marked, b)
		}
	}
	if len(marked) == 0 {
		t.Fatal("no block is marked")
	}
	run := startProgram(t, program)
	for _, b := range marked {
		if output, err := run(b.text); err != nil {
			t.Errorf("%s:%d: %v\n%s", b.file, b.line, err, output)
		}
	}
	if output, err := run("curl $API/vote"); err == nil {
		t.Errorf("a request without a token passed: %s", output)
	}
}

// startProgram starts a program that serves until the test ends, and returns a
// function that runs a block against it.
func startProgram(t *testing.T, program string) func(text string) (string, error) {
	t.Helper()
	for _, name := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	api, admin := freeAddress(t), freeAddress(t)
	serve := exec.CommandContext(t.Context(), program, "serve", "--data-dir", t.TempDir(), "--listen", api, "--admin-listen", admin)
	serve.Dir = root
	serve.Stderr = t.Output()
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	output, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = serve.Wait() }) // after the context's end
	lines := bufio.NewScanner(output)
	if !lines.Scan() { // it prints its addresses once it serves
		t.Fatal("the program did not start")
	}
	go func() {
		for lines.Scan() {
		}
	}()
	addresses := strings.NewReplacer("go run ./services", "acclaim", "127.0.0.1:8080", api, strings.TrimPrefix(adminAddress, "http://"), admin)
	return func(text string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), blockTimeout)
		defer cancel()
		bash := exec.CommandContext(ctx, "bash", "-c", addresses.Replace(prelude+text))
		bash.Dir = root
		bash.Env = append(os.Environ(), fmt.Sprintf("PATH=%s%c%s", filepath.Dir(program), os.PathListSeparator, os.Getenv("PATH")))
		printed, err := bash.CombinedOutput()
		return string(printed), err
	}
}

// freeAddress returns an address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := harness.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return address
}
