//go:build !cgo

package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A program that starts over a log of 14 MB holds little garbage once it is ready. The image
// is built without cgo: what Pebble allocates is in Go's heap.
func TestRestartLeavesNoGarbage(t *testing.T) {
	t.Parallel()
	const entries = 240
	dir := t.TempDir()
	p := startProgram(t, dir, "serve")
	viewer, body := sign(t, "viewer", "U"), fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 60_000))
	for range entries {
		if f, why := send(p, http.MethodPost, "/accumulate", viewer, body, nil); f != stored {
			t.Fatal(why)
		}
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait() // it was killed

	p = startProgram(t, dir, "serve")
	const inUse, idle, released = "go_memstats_heap_inuse_bytes", "go_memstats_heap_idle_bytes", "go_memstats_heap_released_bytes"
	if held := metric(t, p, inUse) + metric(t, p, idle) - metric(t, p, released); held > 64<<20 {
		t.Errorf("the heap has %d MiB", held>>20)
	}
}
