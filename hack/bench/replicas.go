package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"
)

// layout is a number of programs over one database.
type layout struct {
	name     string
	label    string
	replicas int
	// processors is how many each replica may use at a time, 0 for all there are.
	processors int
	flags      []string
	programs   []*program
}

func layouts() []*layout {
	return []*layout{
		{name: "one", label: "1 replica", replicas: 1},
		{name: "three", label: "3 replicas", replicas: 3},
		{name: "eight", label: "8 replicas", replicas: 8},
		// Nobody listens on this port, so every replica commits for itself.
		{name: "cut", label: "3 replicas, cut off", replicas: 3, flags: []string{"--peer-advertise", "127.0.0.1:1"}},
		// A replica on a machine of its own adds processors. These do, where there are
		// some left for the load generator and the database.
		{name: "single", label: "1 replica, 1 processor", replicas: 1, processors: 1},
		{name: "triple", label: "3 replicas, 1 processor each", replicas: 3, processors: 1},
	}
}

// replicasCase is a load on a layout.
type replicasCase struct {
	layout      *layout
	label       string
	connections int
	polls       int
	// part is the rate of requests, as a part of what the first case with this
	// number of polls has answered in the same round; 0 for as many as are answered.
	part       float64
	fleet      *fleet
	samples    []sample
	operations map[string]float64 // database commands in all rounds
}

func (b *bench) measureReplicas(ctx context.Context) (r *replicasReport, err error) {
	in, err := newInputs(b.voters)
	if err != nil {
		return nil, err
	}
	db, err := openDatabase(ctx, b.mongodb, b.dir)
	if err != nil {
		return nil, err
	}
	names := []string{usualDatabase}
	defer func() { err = errors.Join(err, db.close(context.WithoutCancel(ctx), names...)) }()
	all := layouts()
	for _, l := range all {
		names = append(names, l.name)
		defer func() { err = errors.Join(err, l.stop()) }()
		if err := b.launch(ctx, db, l); err != nil {
			return nil, err
		}
		if err := l.greet(ctx, in); err != nil {
			return nil, err
		}
	}
	cases := replicasCases(all)
	for _, c := range cases {
		b.say("%-30s %-20s preparing", c.label, c.layout.label)
		if err := c.prepare(ctx, b, in); err != nil {
			return nil, err
		}
		defer c.fleet.close()
	}
	usual, err := b.replicaRounds(ctx, db, cases)
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		b.say("%-30s %-20s checking %d answers", c.label, c.layout.label, c.fleet.sent.Load())
		if err := c.fleet.load.verify(ctx, c.layout.programs[0].client, c.fleet.sent.Load()); err != nil {
			return nil, fmt.Errorf("%s, %s: not exact: %w", c.label, c.layout.label, err)
		}
	}
	return newReplicasReport(cases, usual), nil
}

// replicasCases returns what is measured: the hot poll on every layout, many
// polls on those of one and three replicas, and on those that reach one another
// the hot poll at a rate that none of them has trouble with.
func replicasCases(all []*layout) (cases []*replicasCase) {
	for _, l := range all {
		cases = append(cases, &replicasCase{layout: l, label: "POST /vote, one hot poll", connections: 256, polls: 1})
	}
	for _, l := range all[:3] {
		cases = append(cases, &replicasCase{layout: l, label: "POST /vote, hot poll at half of that", connections: 256, polls: 1, part: 0.5})
	}
	for _, l := range []*layout{all[0], all[1], all[4], all[5]} {
		cases = append(cases, &replicasCase{layout: l, label: "POST /vote, 1,000 polls", connections: 256, polls: 1000})
	}
	return append(cases, &replicasCase{layout: all[1], label: "POST /vote, 1,000 polls, quiet", connections: 6, polls: 1000})
}

// checkedPolls is how many polls are checked of those of a case: the
// MongoDB-wire server of hack/mongod searches all records for every one it reads.
const checkedPolls = 20

// replicaRounds measures all cases and the usual way in turns.
func (b *bench) replicaRounds(ctx context.Context, db *database, cases []*replicasCase) (usual []sample, err error) {
	for round := range b.rounds {
		for _, c := range cases {
			c.fleet.rate = c.part * cases[0].throughput()
			if err := c.measure(ctx, b); err != nil {
				return nil, fmt.Errorf("%s, %s: %w", c.label, c.layout.label, err)
			}
			b.say("%-30s %-20s round %d of %d: %7.0f/s", c.label, c.layout.label, round+1, b.rounds, c.samples[round].throughput())
		}
		s, err := measureUsual(ctx, db, b.duration, round)
		if err != nil {
			return nil, fmt.Errorf("the usual way: %w", err)
		}
		usual = append(usual, s)
		b.say("%-30s %-20s round %d of %d: %7.0f/s", "upsert and aggregate", "", round+1, b.rounds, s.throughput())
	}
	return usual, nil
}

// throughput is what the last round measured, 0 before the first.
func (c *replicasCase) throughput() float64 {
	if len(c.samples) == 0 {
		return 0
	}
	return c.samples[len(c.samples)-1].throughput()
}

func (b *bench) launch(ctx context.Context, db *database, l *layout) error {
	uri := db.named(l.name)
	var env []string
	if l.processors > 0 {
		env = append(env, fmt.Sprint("GOMAXPROCS=", l.processors))
	}
	for i := range l.replicas {
		data := filepath.Join(b.dir, fmt.Sprint(l.name, i))
		p, err := start(ctx, env, b.binary, "serve", b.registry, data, append([]string{"--mongodb-uri", uri}, l.flags...)...)
		if err != nil {
			return err
		}
		l.programs = append(l.programs, p)
	}
	return nil
}

// greet shows every program every credential once. A program alone has verified
// all of them by the time it is measured, of several each would still be at it.
func (l *layout) greet(ctx context.Context, in *inputs) error {
	for _, p := range l.programs {
		if err := fill(ctx, p, &reads{poll: "greeting", credentials: in.viewers}, len(in.viewers)); err != nil {
			return err
		}
	}
	return nil
}

func (l *layout) stop() error {
	var errs []error
	for _, p := range l.programs {
		errs = append(errs, p.stop())
	}
	return errors.Join(errs...)
}

func (c *replicasCase) prepare(ctx context.Context, b *bench, in *inputs) error {
	var addresses []string
	for _, p := range c.layout.programs {
		addresses = append(addresses, p.address)
	}
	load := newVotes(fmt.Sprintf("p%d-%d-%.1f", c.polls, c.connections, c.part), c.polls, in.viewers)
	load.every = max(1, c.polls/checkedPolls)
	var err error
	if c.fleet, err = newFleet(ctx, c.connections, load, addresses...); err != nil {
		return err
	}
	// Every poll once, so that what is measured is no poll's first vote.
	if _, err = c.fleet.drive(ctx, fillLimit, int64(c.polls)); err == nil {
		_, err = c.fleet.drive(ctx, b.duration/3, math.MaxInt64)
	}
	c.operations = map[string]float64{}
	return err
}

func (c *replicasCase) measure(ctx context.Context, b *bench) error {
	before, err := c.layout.commands(ctx)
	if err != nil {
		return err
	}
	spent := c.layout.cpu()
	s, err := c.fleet.drive(ctx, b.duration, math.MaxInt64)
	if err != nil {
		return err
	}
	s.cpu = c.layout.cpu() - spent
	after, err := c.layout.commands(ctx)
	if err != nil {
		return err
	}
	for name, n := range after {
		c.operations[name] += n - before[name]
	}
	c.samples = append(c.samples, s)
	return nil
}

// cpu returns the processor time that the programs have used.
func (l *layout) cpu() (spent time.Duration) {
	for _, p := range l.programs {
		spent += p.cpu()
	}
	return spent
}

// commands returns how many commands the programs have sent to the database.
func (l *layout) commands(ctx context.Context) (map[string]float64, error) {
	sent := map[string]float64{}
	for _, p := range l.programs {
		metrics, err := p.client.metrics(ctx)
		if err != nil {
			return nil, err
		}
		const name = "acclaim_database_commands_total"
		sent["insert"] += total(metrics, name, `"insert"`)
		sent["all"] += total(metrics, name, "")
	}
	return sent, nil
}
