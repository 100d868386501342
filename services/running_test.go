package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// startVoters lets viewers vote until stop is called, and counts what was acknowledged.
func startVoters(t *testing.T, p *process) (acknowledged *atomic.Int64, stop func()) {
	t.Helper()
	acknowledged = &atomic.Int64{}
	vote := func(v, i int) {
		if f, why := send(p, http.MethodPost, "/vote?id=show", signViewer(t, fmt.Sprintf("U-%d-%d", v, i), ""), `{"value":1}`, nil); f != stored {
			t.Errorf("a vote failed: %s", why)
		}
		acknowledged.Add(1)
	}
	vote(0, 0) // an empty store has no backup
	ctx, cancel := context.WithCancel(t.Context())
	var voters sync.WaitGroup
	for v := range 4 {
		voters.Go(func() {
			for i := 1; ctx.Err() == nil; i++ {
				vote(v, i)
			}
		})
	}
	return acknowledged, func() { cancel(); voters.Wait() }
}

// wantNothingBeside makes sure that no checkpoint is left beside a data folder.
func wantNothingBeside(t *testing.T, dir string) {
	t.Helper()
	if found := filesBeside(t, dir); len(found) > 0 {
		t.Errorf("beside the data folder are %q", found)
	}
}

// filesBeside returns what is beside a data folder, but for the key that signs results.
func filesBeside(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(dir + "?*")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(found, func(name string) bool { return strings.HasPrefix(name, dir+".resultlog.") })
}

func awaitNothingBeside(t *testing.T, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for found := []string{dir}; len(found) > 0; {
		if ctx.Err() != nil {
			t.Fatalf("beside the data folder are %q", found)
		}
		found = filesBeside(t, dir)
	}
}

// While a program serves votes from its folder, commands read that. A backup holds all votes that were
// acknowledged before it, and is restored as a sound store.
func TestCommandsBesideARunningProgram(t *testing.T) {
	t.Parallel()
	dir, folder := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backups")
	p := startProgram(t, dir, "serve")
	acknowledged, stop := startVoters(t, p)
	for range 2 {
		restored := t.TempDir()
		before := acknowledged.Load()
		mustBackUp(t, folder, "--data-dir", dir)
		after := acknowledged.Load()
		mustRestore(t, folder, "--data-dir", restored)
		other := startProgram(t, restored, "serve")
		var tally struct{ Count int64 }
		if f, why := send(other, http.MethodGet, "/vote?id=show", sign(t, "backend", ""), "", &tally); f != stored || tally.Count < before || tally.Count > after+4 {
			t.Errorf("restored are %d votes of %d to %d %s", tally.Count, before, after, why)
		}
		other.end(t)
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
	}
	before := acknowledged.Load()
	rows := mustExport(t, "--data-dir", dir, "--kind", "votes", "--format", "csv")
	if n := int64(strings.Count(rows, "show")); n < before || n > acknowledged.Load()+4 {
		t.Errorf("the table has %d rows, %d votes were acknowledged before", n, before)
	}
	if out, status := runVerify(t, "--data-dir", dir); status != 0 {
		t.Errorf("verify: status %d\n%s", status, out)
	}
	awaitNothingBeside(t, dir) // the program removes a checkpoint when its reader has gone
	stop()
	p.end(t)
	if _, err := os.Stat(filepath.Join(dir, "acclaim.operator")); !os.IsNotExist(err) {
		t.Errorf("the operator's file has stayed: %v", err)
	}
}

// requestCheckpoint asks a program for a checkpoint, with an Authorization header.
func requestCheckpoint(t *testing.T, p *process, header string) (status int, lines *json.Decoder) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.admin+"/checkpoint", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", header)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() }) // the program may be gone
	return response.StatusCode, json.NewDecoder(response.Body)
}

// operatorHeader returns the Authorization header of the operator of a program.
func operatorHeader(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "acclaim.operator")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the operator's file is %v", info.Mode())
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var access struct{ Token string }
	if err := json.Unmarshal(content, &access); err != nil || len(access.Token) < 20 {
		t.Fatalf("the operator's file has %s, %v", content, err)
	}
	return "Bearer " + access.Token
}

// checkpointLine is a line of the answer to POST /checkpoint.
type checkpointLine struct{ Folder, Reason string }

func mustBeginCheckpoint(t *testing.T, p *process, dir string) (folder string, lines *json.Decoder) {
	t.Helper()
	status, lines := requestCheckpoint(t, p, operatorHeader(t, dir))
	var line checkpointLine
	if err := lines.Decode(&line); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %+v, %v", status, line, err)
	}
	if _, err := os.Stat(line.Folder); err != nil {
		t.Fatal(err)
	}
	return line.Folder, lines
}

// Only the operator's token makes a checkpoint, and only of the process that gave it.
func TestCheckpointNeedsTheOperator(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := startProgram(t, dir, "serve")
	first := operatorHeader(t, dir)
	p.end(t)
	p = startProgram(t, dir, "serve")
	header := operatorHeader(t, dir)
	for _, header := range []string{"", "Bearer ", first, header + "x", header[:len(header)-1], strings.TrimPrefix(header, "Bearer "), sign(t, "backend", "")} {
		if status, _ := requestCheckpoint(t, p, header); status != http.StatusUnauthorized {
			t.Errorf("with %q the status is %d", header, status)
		}
	}
	wantNothingBeside(t, dir)
	mustBeginCheckpoint(t, p, dir)
	status, lines := requestCheckpoint(t, p, header)
	var refused checkpointLine
	if err := lines.Decode(&refused); err != nil || status != http.StatusConflict || !strings.Contains(refused.Reason, "already") {
		t.Errorf("a second checkpoint: status %d, %+v, %v", status, refused, err)
	}
}

// An erasure ends a checkpoint that is read, so that no file has the ids of the viewer when it is done.
func TestEraseBesideACheckpoint(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	dir := filepath.Join(above, "data")
	p := startProgram(t, dir, "serve")
	populate(t, p)
	folder, lines := mustBeginCheckpoint(t, p, dir)
	if !holds(t, folder, leavingOpaque) {
		t.Fatal("the ids are not there to begin with")
	}
	if status, answer := ask(t, p, sign(t, "backend", ""), leavingBody); status != http.StatusOK {
		t.Fatalf("status %d, %s", status, answer)
	}
	wantNothingBeside(t, dir)
	if holds(t, dir, leavingOpaque) || holds(t, dir, leavingUser) {
		t.Error("a file holds the ids still")
	}
	if t.Failed() {
		return // the checkpoint may never end
	}
	var last checkpointLine
	if err := lines.Decode(&last); err != nil || !strings.Contains(last.Reason, "erasure") {
		t.Errorf("the reader gets %+v, %v", last, err)
	}
	if err := lines.Decode(&last); err != io.EOF {
		t.Errorf("then comes %v", err)
	}
}

// A program that is killed while its checkpoint is read leaves nothing after its next start.
func TestKilledBesideACheckpoint(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := startProgram(t, dir, "serve")
	populate(t, p)
	before := answers(t, p)
	folder, _ := mustBeginCheckpoint(t, p, dir)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
	if _, err := os.Stat(folder); err != nil {
		t.Fatalf("nothing is left, so this test shows nothing: %v", err)
	}
	p = startProgram(t, dir, "serve")
	wantNothingBeside(t, dir)
	if got := answers(t, p); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("after the restart %v is answered, before it was %v", got, before)
	}
}

// A backup that an erasure interrupts begins again and does not hold the viewer.
func TestBackupBeginsAgain(t *testing.T) {
	t.Parallel()
	dir, folder := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backups")
	p := startProgram(t, dir, "serve")
	populate(t, p)
	mustBeginCheckpoint(t, p, dir) // blocks the backup until the erasure
	done := make(chan string, 1)
	waits, said := io.Pipe()
	go func() {
		out, status := runCommandTo(t, said, "backup", folder, "--data-dir", dir)
		_ = said.Close()
		done <- fmt.Sprint(status, out)
	}()
	heard := make([]byte, 1<<10)
	n, err := waits.Read(heard)
	if err != nil || !strings.Contains(string(heard[:n]), "trying again in") {
		t.Errorf("the command says %q, %v", heard[:n], err)
	}
	go func() { _, _ = io.Copy(io.Discard, waits) }()
	if status, answer := ask(t, p, sign(t, "backend", ""), leavingBody); status != http.StatusOK {
		t.Fatalf("status %d, %s", status, answer)
	}
	if out := <-done; !strings.HasPrefix(out, "0backup ") {
		t.Errorf("backup: %s", out)
	}
	restored := t.TempDir()
	mustRestore(t, folder, "--data-dir", restored)
	if holds(t, restored, leavingUser) {
		t.Error("the backup holds the viewer")
	}
}
