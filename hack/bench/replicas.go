package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// replicaLayout is a number of programs over one database.
type replicaLayout struct {
	name     string
	label    string
	replicas int
	// processors limits the processors of each replica, 0 for no limit.
	processors int
	flags      []string
	// listens makes the last program one of the service state, which serves events and owns no
	// poll: its updates are of votes that another program has stored.
	listens  bool
	programs []*program
}

func layouts() []*replicaLayout {
	return []*replicaLayout{
		{name: "one", label: "1 replica", replicas: 1},
		{name: "three", label: "3 replicas", replicas: 3},
		{name: "eight", label: "8 replicas", replicas: 8},
		// No process listens on this port, so every replica commits for itself.
		{name: "cut", label: "3 replicas, cut off", replicas: 3, flags: []string{"--peer-advertise", "127.0.0.1:1"}},
		// A replica on a machine of its own adds processors. These do, where there are
		// some left for the load generator and the database.
		{name: "single", label: "1 replica, 1 processor", replicas: 1, processors: 1},
		{name: "triple", label: "3 replicas, 1 processor each", replicas: 3, processors: 1},
	}
}

// replicasCase is a load on a layout.
type replicasCase struct {
	layout      *replicaLayout
	label       string
	connections int
	polls       int
	// part is the rate of requests, as a part of what the first case with this
	// number of polls has answered in the same round; 0 for as many as are answered.
	part       float64
	fleet      *fleet
	samples    []roundSample
	operations map[string]float64 // database commands in all rounds
}

// measureReplicas measures several programs over one database.
func (b *bench) measureReplicas(ctx context.Context) (*replicasReport, error) {
	db, err := openDatabase(ctx, b.mongodb, b.dir)
	if err != nil {
		return nil, err
	}
	all := layouts()
	return b.measureLayouts(ctx, db, all, replicasCases(all), db)
}

// measureSideBySide measures one and three programs over a database that takes inserts side
// by side, as a replica set does and the server of hack/mongod does not: so the programs themselves
// are the limit.
func (b *bench) measureSideBySide(ctx context.Context) (*replicasReport, error) {
	db, err := openModel(ctx, b.dir)
	if err != nil {
		return nil, err
	}
	all := layouts()[:2]
	var cases []*replicasCase
	for _, polls := range []int{1, 1000} {
		for _, l := range all {
			cases = append(cases, newCase(l, polls))
		}
	}
	return b.measureLayouts(ctx, db, all, cases, nil)
}

// measureLayouts measures cases on programs over a database, which it closes, and the usual
// way on another unless that is nil.
func (b *bench) measureLayouts(ctx context.Context, db *benchDatabase, all []*replicaLayout, cases []*replicasCase, usualWay *benchDatabase) (r *replicasReport, err error) {
	names := []string{usualDatabase}
	defer func() { err = errors.Join(err, db.close(context.WithoutCancel(ctx), names...)) }()
	in, err := newInputs(b.voters)
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		names = append(names, l.name)
		defer func() { err = errors.Join(err, l.stop()) }()
		if err := b.launchReplicas(ctx, db, l); err != nil {
			return nil, err
		}
		if err := l.showCredentials(ctx, in); err != nil {
			return nil, err
		}
	}
	for _, c := range cases {
		b.logf("%-30s %-20s preparing", c.label, c.layout.label)
		if err := c.prepareLoad(ctx, b, in); err != nil {
			return nil, err
		}
		defer c.fleet.close()
	}
	usual, err := b.replicaRounds(ctx, cases, usualWay)
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		b.logf("%-30s %-20s checking %d answers", c.label, c.layout.label, c.fleet.sent.Load())
		if err := c.fleet.load.verify(ctx, c.layout.programs[0].client, c.fleet.sent.Load()); err != nil {
			return nil, fmt.Errorf("%s, %s: not exact: %w", c.label, c.layout.label, err)
		}
	}
	return newReplicasReport(cases, usual), nil
}

// replicasCases returns what is measured: the hot poll on every layout, many
// polls on those of one and three replicas, and on those that reach one another
// the hot poll at a rate that none of them has trouble with.
func replicasCases(all []*replicaLayout) (cases []*replicasCase) {
	for _, l := range all {
		cases = append(cases, newCase(l, 1))
	}
	for _, l := range all[:3] {
		cases = append(cases, &replicasCase{layout: l, label: "POST /vote, hot poll at half of that", connections: 256, polls: 1, part: 0.5})
	}
	for _, l := range []*replicaLayout{all[0], all[1], all[4], all[5]} {
		cases = append(cases, newCase(l, 1000))
	}
	return append(cases, &replicasCase{layout: all[1], label: "POST /vote, 1,000 polls, quiet", connections: 6, polls: 1000})
}

// checkedPolls limits the polls of a case that are checked: the
// MongoDB-wire server of hack/mongod searches all records for every one it reads.
const checkedPolls = 20

// newCase returns as many votes as are answered, in some polls.
func newCase(l *replicaLayout, polls int) *replicasCase {
	label := "POST /vote, one hot poll"
	if polls > 1 {
		label = "POST /vote, 1,000 polls"
	}
	return &replicasCase{layout: l, label: label, connections: 256, polls: polls}
}

// replicaRounds measures all cases, and the usual way unless db is nil, in turns.
func (b *bench) replicaRounds(ctx context.Context, cases []*replicasCase, db *benchDatabase) (usual []roundSample, err error) {
	for round := range b.rounds {
		for _, c := range cases {
			c.fleet.rate = c.part * cases[0].lastThroughput()
			if err := c.measureRound(ctx, b); err != nil {
				return nil, fmt.Errorf("%s, %s: %w", c.label, c.layout.label, err)
			}
			b.logf("%-30s %-20s round %d of %d: %7.0f/s", c.label, c.layout.label, round+1, b.rounds, c.samples[round].throughput())
		}
		if db == nil {
			continue
		}
		s, err := measureUsual(ctx, db, b.duration, round)
		if err != nil {
			return nil, fmt.Errorf("the usual way: %w", err)
		}
		usual = append(usual, s)
		b.logf("%-30s %-20s round %d of %d: %7.0f/s", "upsert and aggregate", "", round+1, b.rounds, s.throughput())
	}
	return usual, nil
}

// lastThroughput is the result of the last round, 0 before the first.
func (c *replicasCase) lastThroughput() float64 {
	if len(c.samples) == 0 {
		return 0
	}
	return c.samples[len(c.samples)-1].throughput()
}

func (b *bench) launchReplicas(ctx context.Context, db *benchDatabase, l *replicaLayout) error {
	uri := db.scopedName(l.name)
	var env []string
	if l.processors > 0 {
		env = append(env, fmt.Sprint("GOMAXPROCS=", l.processors))
	}
	for i := range l.replicas {
		data := filepath.Join(b.dir, fmt.Sprint(l.name, i))
		command := "serve"
		if l.listens && i == l.replicas-1 {
			command = "state"
		}
		p, err := startProcess(ctx, env, b.binary, command, b.registry, data, append([]string{"--mongodb-uri", uri}, l.flags...)...)
		if err != nil {
			return err
		}
		l.programs = append(l.programs, p)
	}
	return nil
}

// showCredentials shows every program every credential once. A program alone has verified
// all of them by the time it is measured, of several each would still be at it.
func (l *replicaLayout) showCredentials(ctx context.Context, in *loadInputs) error {
	for _, p := range l.programs {
		if err := fillPolls(ctx, p, &reads{poll: "greeting", credentials: in.viewers}, len(in.viewers)); err != nil {
			return err
		}
	}
	return nil
}

func (l *replicaLayout) stop() error {
	var errs []error
	for _, p := range l.programs {
		errs = append(errs, p.stop())
	}
	return errors.Join(errs...)
}

func (c *replicasCase) prepareLoad(ctx context.Context, b *bench, in *loadInputs) error {
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
	if _, err = c.fleet.driveLoad(ctx, fillTimeout, int64(c.polls)); err == nil {
		_, err = c.fleet.driveLoad(ctx, b.duration/3, math.MaxInt64)
	}
	c.operations = map[string]float64{}
	return err
}

func (c *replicasCase) measureRound(ctx context.Context, b *bench) error {
	before, err := c.layout.countCommands(ctx)
	if err != nil {
		return err
	}
	spent := c.layout.cpuTime()
	s, err := c.fleet.driveLoad(ctx, b.duration, math.MaxInt64)
	if err != nil {
		return err
	}
	s.cpu = c.layout.cpuTime() - spent
	after, err := c.layout.countCommands(ctx)
	if err != nil {
		return err
	}
	for name, n := range after {
		c.operations[name] += n - before[name]
	}
	c.samples = append(c.samples, s)
	return nil
}

// cpuTime returns the processor time that the programs have used.
func (l *replicaLayout) cpuTime() (spent time.Duration) {
	for _, p := range l.programs {
		spent += p.cpuTime()
	}
	return spent
}

// countCommands returns how many commands the programs have sent to the database.
func (l *replicaLayout) countCommands(ctx context.Context) (map[string]float64, error) {
	sent := map[string]float64{}
	for _, p := range l.programs {
		metrics, err := harness.ReadMetrics(ctx, p.client.admin)
		if err != nil {
			return nil, err
		}
		const name = "acclaim_database_commands_total"
		sent["insert"] += metrics.Sum(name, `"insert"`)
		sent["all"] += metrics.Sum(name, "")
	}
	return sent, nil
}
