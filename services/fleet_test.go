package main

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"syscall"
	"testing"
)

// fleet is several programs over one database.
type fleet struct {
	t     *testing.T
	uris  []string // each program's way to it, or one for all
	flags []string

	mu       sync.Mutex
	replicas []*process
}

func startFleet(t *testing.T, uris []string, size int, flags ...string) *fleet {
	f := &fleet{t: t, uris: uris, flags: flags, replicas: make([]*process, size)}
	var starts sync.WaitGroup
	for i := range f.replicas {
		starts.Go(func() { f.replicas[i] = f.boot(i) })
	}
	starts.Wait()
	return f
}

func (f *fleet) boot(i int) *process {
	uri := f.uris[i%len(f.uris)]
	return startProgram(f.t, f.t.TempDir(), "serve", append([]string{"--mongodb-uri", uri}, f.flags...)...)
}

// any returns the replica in a place, or the next one there is.
func (f *fleet) any(place int) *process {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.replicas {
		if p := f.replicas[(place+i)%len(f.replicas)]; p != nil {
			return p
		}
	}
	return nil
}

// put puts a replica in a place, nil to leave the place to the others.
func (f *fleet) put(i int, p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replicas[i] = p
}

// kill ends a replica without warning and starts another.
func (f *fleet) kill(i int) {
	p := f.any(i)
	if err := p.cmd.Process.Kill(); err != nil {
		f.t.Error(err)
	}
	_ = p.cmd.Wait() // it was killed
	f.put(i, f.boot(i))
}

// replace starts another replica and lets the one in its place drain.
func (f *fleet) replace(i int) {
	old := f.any(i)
	f.put(i, f.boot(i))
	if err := old.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		f.t.Error(err)
	}
	if err := old.cmd.Wait(); err != nil {
		f.t.Errorf("a replica that was told to end did so with %v\n%s", err, old.stderr)
	}
}

// pause stops a replica until during returns. Clients ask the others meanwhile.
func (f *fleet) pause(i int, during func()) {
	p := f.any(i)
	signal := func(s os.Signal) {
		if err := p.cmd.Process.Signal(s); err != nil {
			f.t.Error(err)
		}
	}
	f.put(i, nil)
	signal(syscall.SIGSTOP)
	during()
	signal(syscall.SIGCONT)
	f.put(i, p)
}

// fate is what a client knows of a command.
type fate int

const (
	unknown fate = iota
	stored
	refused
)

// send sends a command and reports what became of it.
func send(p *process, method, path, header, body string, into any) (fate, string) {
	status, err := p.do(method, path, header, body, into)
	switch {
	case err != nil:
		return unknown, err.Error()
	case status == http.StatusOK:
		return stored, ""
	case status == http.StatusInternalServerError:
		return unknown, fmt.Sprint("status ", status)
	}
	return refused, fmt.Sprint("status ", status)
}
