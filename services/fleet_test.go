package main

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// fleet is several programs over one database.
type fleet struct {
	t      *testing.T
	uris   []string // one for each program, or one for all
	flags  []string
	binary string // of the programs that start from now on; empty: this one
	// link returns further flags of the program that starts in a place; nil for none.
	link func(place int) []string

	mu       sync.Mutex
	replicas []*process
}

// databases start an empty database of each kind that programs run over, and return its
// URI: a server on its own, a replica set, and two shards behind a router. The last two
// are models, see [mongotest.ReplicaSet].
var databases = map[string]func(t *testing.T) string{
	"server": func(t *testing.T) string { return mongotest.WithLongTimeouts(mongotest.Start(t)) },
	"replica set": func(t *testing.T) string {
		return mongotest.WithLongTimeouts(mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{}).URI())
	},
	"sharded cluster": func(t *testing.T) string {
		other := mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{})
		return mongotest.WithLongTimeouts(mongotest.StartReplicaSet(t, 3, mongotest.ReplicaTiming{}).NewRouter("SINGLE_SHARD", other).URI())
	},
}

func startFleet(t *testing.T, uris []string, size int, flags ...string) *fleet {
	f := &fleet{t: t, uris: uris, flags: flags, replicas: make([]*process, size)}
	f.start()
	return f
}

// start starts a program in each place.
func (f *fleet) start() {
	var starts sync.WaitGroup
	for i := range f.replicas {
		starts.Go(func() { f.replicas[i] = f.boot(i) })
	}
	starts.Wait()
}

func (f *fleet) boot(i int) *process {
	p := newProgram(f.t, f.t.TempDir(), "serve", append([]string{"--mongodb-uri", f.uris[i%len(f.uris)]}, f.flags...)...)
	if f.link != nil {
		p.cmd.Args = append(p.cmd.Args, f.link(i)...)
	}
	if f.binary != "" {
		p.cmd.Path = f.binary
	}
	p.launch(f.t)
	p.awaitReady(f.t)
	return p
}

// any returns the replica in a place, or the next one if that place is empty. Where none is
// left, the test fails, and the goroutine that asks ends.
func (f *fleet) any(place int) *process {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.replicas {
		if p := f.replicas[(place+i)%len(f.replicas)]; p != nil {
			return p
		}
	}
	f.t.Error("no replica is left")
	runtime.Goexit()
	return nil
}

// put puts a replica in a place; nil leaves the place empty.
func (f *fleet) put(i int, p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replicas[i] = p
}

// kill ends a replica without warning and starts another. Until that is ready, clients use
// the others.
func (f *fleet) kill(i int) {
	p := f.any(i)
	if err := p.cmd.Process.Kill(); err != nil {
		f.t.Error(err)
	}
	_ = p.cmd.Wait() // it was killed
	f.put(i, nil)
	f.put(i, f.boot(i))
}

// replace starts another replica and lets the one in its place drain.
func (f *fleet) replace(i int) {
	old := f.any(i)
	f.put(i, f.boot(i))
	f.drain(old)
}

// remove lets a replica drain, and leaves its place empty.
func (f *fleet) remove(i int) {
	old := f.any(i)
	f.put(i, nil)
	f.drain(old)
}

// drain tells a replica to end, and waits until it has.
func (f *fleet) drain(old *process) {
	if err := old.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		f.t.Error(err)
	}
	if err := old.cmd.Wait(); err != nil {
		f.t.Errorf("a replica that was told to end did so with %v\n%s", err, old.stderr)
	}
}

// pause stops a replica until during returns. Meanwhile clients use the others.
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

// fate is the outcome of a command as its client knows it.
type fate int

const (
	unknown fate = iota
	stored
	refused
)

// send sends a command and returns its outcome.
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
