package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// longExport returns an export of one long poll as JSON Lines.
func longExport(t *testing.T, chunks int) string {
	t.Helper()
	var out bytes.Buffer
	scope := transfer.Scope{Extension: sampleExtension, Environments: []string{"production", "sandbox"}, Kinds: transfer.Kinds()}
	if _, err := transfer.Export(t.Context(), longPoll(t, chunks), scope, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// longPoll returns a store with one long poll.
func longPoll(t *testing.T, chunks int) *storetest.Memory {
	t.Helper()
	m, head := storetest.NewMemory(), stream.Head{}
	name := voting.Poll{Environment: "production", Extension: sampleExtension, Channel: "1", ID: "long"}.Stream()
	for i := range chunks {
		entry, err := voting.EntryCodec{}.AppendReadable([]byte{0}, fmt.Appendf(nil, `{"entry":"vote","opaque":"U%d","value":1,"count":1,"replace":true}`, i))
		if err != nil {
			t.Fatal(err)
		}
		chunk := stream.Chunk{Stream: name, Seq: head.Seq + 1, At: int64(i), ID: stream.ChunkID{byte(i), byte(i >> 8)}, Prev: head.Sum, Count: 1, Payload: entry}
		if head, err = head.Next(&chunk, true); err != nil {
			t.Fatal(err)
		}
		if err := m.Append(t.Context(), chunk); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// After several imports that were killed, the next one completes the data.
func TestKilledImportIsCompleted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		chunks int
		shares []int // of the file that each attempt reads, in percent
		store  []string
	}{
		"embedded": {6_000, []int{40, 70, 99}, []string{"--data-dir", t.TempDir()}},
		"database": {2_000, []int{99}, []string{"--mongodb-uri", mongotest.Start(t)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := longExport(t, c.chunks)
			for _, share := range c.shares {
				killImport(t, file[:len(file)*share/100], c.store)
			}
			out := mustImport(t, file, c.store...)
			var rest int
			_, err := fmt.Sscanf(out[strings.Index(out, "stored"):], "stored    chunks: %d", &rest)
			if err != nil || rest == 0 || rest > c.chunks*3/4 {
				t.Errorf("the last import stored %d chunks, %v\n%s", rest, err, out)
			}
			if again := mustExport(t, c.store...); again != longExport(t, c.chunks) {
				t.Error("the export of what was stored differs")
			}
		})
	}
}

// killImport kills an import after it has read a part of a file, to within the size
// of a pipe's buffer.
func killImport(t *testing.T, part string, store []string) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	killed := exec.CommandContext(context.WithoutCancel(t.Context()), binary, append([]string{"import", "-"}, store...)...)
	killed.Env = append(os.Environ(), asProgram+"=1")
	in, err := killed.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, part); err != nil {
		t.Fatal(err)
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
}
