package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// idleCommand is the argument with which this program measures what idle polls cost.
const idleCommand = "idle"

// idleMemory is the memory that the program may use: without a limit it would take what the machine has.
const idleMemory = "1GiB"

// idleOptions are its flags.
type idleOptions struct {
	polls    int
	hot      int
	duration time.Duration
	replica  bool
}

// idlePolls votes in one poll after another, as a backend, which no quota of new polls holds for.
type idlePolls struct{ prefix, credential string }

func (v *idlePolls) request(buf []byte, _ int, n int64) []byte {
	body := fmt.Appendf(nil, `{"votes":[{"opaque_user_id":"U%d","value":1}]}`, n)
	return appendRequest(buf, "POST", "votes?id="+pollID(v.prefix, int(n)), v.credential, body)
}

func (v *idlePolls) verify(context.Context, *client, int64) error { return nil }

// measureIdle fills a store with polls, restarts the program with a webhook, waits until it
// delivers, and reports the processor time that the program takes while nothing happens.
func measureIdle(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o := idleOptions{}
	b := &bench{benchOptions: benchOptions{progress: stderr, voters: 50_000}}
	flags := flag.NewFlagSet("bench idle", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.polls, "polls", 100_000, "`number` of polls")
	flags.IntVar(&o.hot, "hot", 1_000, "`number` of further polls that have votes just before the measurement")
	flags.DurationVar(&o.duration, "duration", time.Minute, "`length` of the measurement")
	flags.BoolVar(&o.replica, "replica-set", false, "store them in the model of a replica set, which other processes may write to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	remove, err := b.prepare(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	var store []string
	if o.replica {
		db, failed := openModel(ctx, b.dir)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, db.close(context.WithoutCancel(ctx))) }()
		store = []string{"--mongodb-uri", db.scopedName("idle")}
	}
	return b.measureIdlePolls(ctx, o, store, stdout)
}

func (b *bench) measureIdlePolls(ctx context.Context, o idleOptions, store []string, stdout io.Writer) (err error) {
	in, err := newInputs(b.voters)
	if err != nil {
		return err
	}
	data := filepath.Join(b.dir, "idle")
	b.logf("voting in %d polls", o.polls)
	p, err := startProcess(ctx, nil, b.binary, "serve", b.registry, data, store...)
	if err != nil {
		return err
	}
	if err := errors.Join(fillPolls(ctx, p, &idlePolls{"idle", p.client.credential}, o.polls), p.stop()); err != nil {
		return err
	}
	to, err := startReceiver(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.server.Close()) }()
	registry := filepath.Join(b.dir, "sinks.yaml")
	if err := os.WriteFile(registry, []byte(to.registryFile()), 0o600); err != nil {
		return err
	}
	if p, err = startProcess(ctx, nil, b.binary, "serve", registry, data, append(store, "--sink-allow-private", "--memory-budget", idleMemory)...); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	b.logf("waiting until the sinks deliver")
	begun, usedBefore := time.Now(), p.cpuTime()
	if err := b.awaitSinks(ctx, p, to, in.viewers); err != nil {
		return err
	}
	took, used := time.Since(begun), p.cpuTime()-usedBefore
	b.logf("voting in %d more polls, and waiting until the program rests", o.hot)
	if err := fillPolls(ctx, p, &idlePolls{"hot", p.client.credential}, o.hot); err != nil {
		return err
	}
	if err := awaitRest(ctx, p); err != nil {
		return err
	}
	b.logf("idle for %s", o.duration)
	before := p.cpuTime()
	select {
	case <-time.After(o.duration):
	case <-ctx.Done():
		return ctx.Err()
	}
	share := 100 * (p.cpuTime() - before).Seconds() / o.duration.Seconds()
	resident, _ := harness.ReadMemory(p.Command.Process.Pid)
	_, err = fmt.Fprintf(stdout, "%d idle polls, %d that were just voted in, a webhook and the pub/sub: %.2f %% of a processor, %d MiB; both sinks began after %.0f s, with %.0f s of a processor\n",
		o.polls, o.hot, share, resident>>20, took.Seconds(), used.Seconds())
	return err
}

// awaitSinks votes in a poll, one viewer after the other, until both sinks have delivered of it:
// a new sink first notes the polls that exist.
func (b *bench) awaitSinks(ctx context.Context, p *program, to *receiver, viewers []string) error {
	told := map[string]bool{}
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	for _, viewer := range viewers {
		if err := p.client.post(ctx, viewer, "vote?id=told", `{"value":1}`); err != nil {
			return err
		}
		for waiting := true; waiting; {
			select {
			case t := <-to.heard:
				if told[t.path] = true; len(told) == 2 {
					return nil
				}
			case <-ticks.C:
				waiting = false
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return errors.New("the sinks do not begin")
}

// awaitRest waits until a program has used next to no processor time for some seconds.
func awaitRest(ctx context.Context, p *program) error {
	const step, rests, least = time.Second, 5, 30 * time.Millisecond
	ticks := time.NewTicker(step)
	defer ticks.Stop()
	for quiet, before := 0, p.cpuTime(); quiet < rests; {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		now := p.cpuTime()
		if quiet++; now-before > least {
			quiet = 0
		}
		before = now
	}
	return nil
}
