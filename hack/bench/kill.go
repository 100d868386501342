package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"
)

// killCommand is the argument with which this program kills the one under measurement while
// votes come at full speed, and checks what it has kept.
const killCommand = "kill"

const (
	// killedConns is the number of connections, each with one request under way.
	killedConns = 6
	// killedVoters limits the votes of a run: none of them votes twice.
	killedVoters = 20_000_000
)

// killedVotes is namedVotes that knows which requests had no answer at the end: a connection
// asks for its next request when it has one.
type killedVotes struct {
	*namedVotes

	mu       sync.Mutex
	underWay map[int]int64 // request by connection
}

func (v *killedVotes) request(buf []byte, conn int, n int64) []byte {
	v.mu.Lock()
	v.underWay[conn] = n
	v.mu.Unlock()
	return v.namedVotes.request(buf, conn, n)
}

// measureKill kills the program with SIGKILL in the middle of votes, starts it over the same
// folder and expects each vote that was acknowledged, and each once after the requests without an
// answer were repeated.
func measureKill(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	b := &bench{benchOptions: benchOptions{progress: stderr}}
	flags := flag.NewFlagSet("bench kill", flag.ContinueOnError)
	flags.SetOutput(stderr)
	polls := flags.Int("polls", 3, "`number` of polls that are voted in at once")
	flags.DurationVar(&b.duration, "duration", 2*time.Second, "`length` of the load before the kill")
	if err := flags.Parse(args); err != nil {
		return err
	}
	remove, err := b.prepare(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	credential, err := newCredential("backend", channel, "")
	if err != nil {
		return err
	}
	v := &killedVotes{namedVotes: newNamedVotes("killed", *polls, credential, killedVoters), underWay: map[int]int64{}}
	b.logf("voting in %d polls until the program is killed", *polls)
	sent, err := b.voteUntilKilled(ctx, v)
	if err != nil {
		return err
	}
	return b.checkKilled(ctx, v, sent, stdout)
}

func (b *bench) startKilled(ctx context.Context) (*program, error) {
	return startProcess(ctx, nil, b.binary, "serve", b.registry, filepath.Join(b.dir, "killed"))
}

// voteUntilKilled returns the number of requests that were sent.
func (b *bench) voteUntilKilled(ctx context.Context, v *killedVotes) (sent int64, err error) {
	p, err := b.startKilled(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = p.stop() }() // it was killed
	f, err := newFleet(ctx, killedConns, v, p.address)
	if err != nil {
		return 0, err
	}
	defer f.close()
	kill := time.AfterFunc(b.duration, func() { _ = p.Command.Process.Kill() })
	defer kill.Stop()
	if _, err := f.driveLoad(ctx, b.duration+grace, killedVoters/votesTogether); err == nil {
		return 0, errors.New("the program has answered every request: it was not killed")
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return f.sent.Load(), nil
}

// checkKilled starts the program again and compares what it has with what it acknowledged.
func (b *bench) checkKilled(ctx context.Context, v *killedVotes, sent int64, stdout io.Writer) (err error) {
	b.logf("starting it again after %d requests", sent)
	p, err := b.startKilled(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	var kept int64
	for _, poll := range v.polls {
		var s statistics
		if err := p.client.get(ctx, "vote?id="+poll, decodeInto(&s)); err != nil {
			return err
		}
		kept += s.Count
	}
	acknowledged := (sent - int64(len(v.underWay))) * votesTogether
	if kept < acknowledged || kept > sent*votesTogether {
		return fmt.Errorf("not exact: %d votes are kept of %d that were acknowledged and %d that were sent", kept, acknowledged, sent*votesTogether)
	}
	f, err := newFleet(ctx, 1, v.again(), p.address)
	if err != nil {
		return err
	}
	defer f.close()
	if _, err := f.driveLoad(ctx, grace, int64(len(v.underWay))); err != nil {
		return err
	}
	if err := v.verify(ctx, p.client, sent); err != nil {
		return fmt.Errorf("not exact after requests without an answer were repeated: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "killed at %.0f votes/s in %d polls: all %d acknowledged votes are kept, and each counts once\n",
		float64(acknowledged)/b.duration.Seconds(), len(v.polls), acknowledged)
	return err
}

// repeatedVotes are requests of namedVotes once more.
type repeatedVotes struct {
	*namedVotes

	requests []int64
}

func (v *repeatedVotes) request(buf []byte, conn int, n int64) []byte {
	return v.namedVotes.request(buf, conn, v.requests[n])
}

// again returns the requests without an answer.
func (v *killedVotes) again() *repeatedVotes {
	r := &repeatedVotes{namedVotes: v.namedVotes}
	for _, n := range v.underWay {
		r.requests = append(r.requests, n)
	}
	return r
}
