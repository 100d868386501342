package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// bench holds the programs and settings that all measurements share.
type bench struct {
	benchOptions
	dir      string // everything is below it
	binary   string
	ceiling  string // the binary of ceilingCommand
	registry string
	profile  *profiler // nil: no profile
}

// measureAll runs everything the options ask for and leaves nothing behind.
func measureAll(ctx context.Context, o benchOptions) (r report, err error) {
	dir, err := os.MkdirTemp(o.dir, "acclaim-bench-")
	if err != nil {
		return report{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{benchOptions: o, dir: dir}
	if o.profile != "" {
		b.profile = &profiler{}
		defer func() { err = errors.Join(err, b.profile.write(o.profile)) }()
	}
	b.logf("building the program and signing %d credentials", o.voters)
	if err := b.build(ctx); err != nil {
		return report{}, err
	}
	if r.Machine, err = describeMachine(dir); err != nil {
		return report{}, err
	}
	if r.Cases, err = b.measureCases(ctx); err != nil {
		return report{}, err
	}
	if err := b.measureFleets(ctx, &r); err != nil {
		return report{}, err
	}
	if err := b.measureWatching(ctx, &r); err != nil {
		return report{}, err
	}
	if o.listed > 0 {
		if r.Listing, err = b.measureListing(ctx); err != nil {
			return report{}, fmt.Errorf("listing: %w", err)
		}
	}
	if o.pollSize > 0 {
		r.Poll, err = b.measurePoll(ctx)
	}
	return r, err
}

// prepare makes a folder for everything and builds the programs into it. The caller removes the
// folder.
func (b *bench) prepare(ctx context.Context) (remove func() error, err error) {
	if b.dir, err = os.MkdirTemp("", "acclaim-bench-"); err != nil {
		return nil, err
	}
	remove = func() error { return os.RemoveAll(b.dir) }
	b.logf("building the program")
	if err := b.build(ctx); err != nil {
		return nil, errors.Join(err, remove())
	}
	return remove, nil
}

// build writes the registry and builds the programs.
func (b *bench) build(ctx context.Context) (err error) {
	if b.registry, err = writeRegistry(b.dir); err != nil {
		return err
	}
	if b.binary, err = harness.BuildProgram(ctx, b.dir, nil); err != nil {
		return err
	}
	b.ceiling, err = harness.BuildCommand(ctx, b.dir, ceilingCommand)
	return err
}

// measureWatching measures events and updates, as far as the options ask.
func (b *bench) measureWatching(ctx context.Context, r *report) (err error) {
	if b.listeners > 0 {
		if r.Live, err = b.measureEvents(ctx); err != nil {
			return fmt.Errorf("events: %w", err)
		}
	}
	if slices.Contains(b.cases, updatesCase) {
		if r.Updates, err = b.measureUpdates(ctx); err != nil {
			return fmt.Errorf("updates: %w", err)
		}
	}
	if slices.Contains(b.cases, gamesCase) {
		if r.Games, err = b.measureGameLoads(ctx); err != nil {
			return fmt.Errorf("games: %w", err)
		}
	}
	if slices.Contains(b.cases, matchesCase) {
		if r.Matches, err = b.measureMatches(ctx); err != nil {
			return fmt.Errorf("matches: %w", err)
		}
	}
	return nil
}

// measureFleets measures several programs over one database, as far as the options ask.
func (b *bench) measureFleets(ctx context.Context, r *report) (err error) {
	if b.replicas {
		if r.Replicas, err = b.measureReplicas(ctx); err != nil {
			return fmt.Errorf("replicas: %w", err)
		}
	}
	if b.side {
		if r.SideBySide, err = b.measureSideBySide(ctx); err != nil {
			return fmt.Errorf("replicas side by side: %w", err)
		}
	}
	return nil
}

func (b *bench) measureCases(ctx context.Context) (results []caseResult, err error) {
	in, err := newInputs(b.voters)
	if err != nil {
		return nil, err
	}
	ceiling, err := b.startServer(ctx, "ceiling", b.ceiling)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ceiling.stop()) }()
	subject, err := b.startServer(ctx, "data", b.binary, "serve")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, subject.stop()) }()
	bare, err := startBare(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bare.stop()) }()
	for _, c := range cases() {
		if !slices.Contains(b.cases, c.name) {
			continue
		}
		result, err := b.compareSides(ctx, c, in, ceiling, subject, bare)
		if err != nil {
			return nil, fmt.Errorf("case %s: %w", c.name, err)
		}
		results = append(results, result)
	}
	return results, nil
}

// ceilingCommand answers as the program does, without deciding or storing anything.
const ceilingCommand = "services/internal/testing/ceilingserver"

// startServer starts a binary with a command, if it has several, and a folder of its own.
func (b *bench) startServer(ctx context.Context, folder, binary string, command ...string) (*program, error) {
	args := append(command, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--extensions", b.registry, "--data-dir", filepath.Join(b.dir, folder))
	return startCommand(ctx, nil, binary, args...)
}

// caseSide is a program in one case: the ceiling, the subject, the bare handler or a peer.
type caseSide struct {
	program *program
	fleet   *fleet
	samples []roundSample
	profile *profiler // nil: no profile
}

// compareSides measures one case on the programs in turns and checks the counts.
func (b *bench) compareSides(ctx context.Context, c benchCase, in *loadInputs, ceiling, subject, bare *program) (caseResult, error) {
	programs := []*program{ceiling, subject}
	if c.bare {
		programs = append(programs, bare)
	}
	var sides []*caseSide
	for _, p := range programs {
		s, err := b.prepareSide(ctx, c, in, p)
		if err != nil {
			return caseResult{}, err
		}
		defer s.fleet.close()
		sides = append(sides, s)
	}
	sides[1].profile = b.profile
	for round := range b.rounds {
		for turn := range sides {
			if err := sides[(round+turn)%len(sides)].measureRound(ctx, b.duration); err != nil {
				return caseResult{}, err
			}
		}
		b.logf("%-10s round %d of %d: ceiling %7.0f/s, program %7.0f/s", c.name, round+1, b.rounds,
			sides[0].samples[round].throughput(), sides[1].samples[round].throughput())
	}
	b.logf("%-10s checking %d answers", c.name, sides[1].fleet.sent.Load())
	if err := sides[1].fleet.load.verify(ctx, subject.client, sides[1].fleet.sent.Load()); err != nil {
		return caseResult{}, fmt.Errorf("not exact: %w", err)
	}
	r := newResult(c, sides[0].samples, sides[1].samples)
	if c.bare {
		figures := medianFigures(sides[2].samples)
		r.Bare = &figures
	}
	return r, nil
}

// prepareSide fills a program and warms it up.
func (b *bench) prepareSide(ctx context.Context, c benchCase, in *loadInputs, p *program) (*caseSide, error) {
	if c.fill != nil {
		if err := fillPolls(ctx, p, c.fill(in), len(in.viewers)); err != nil {
			return nil, err
		}
	}
	f, err := newFleet(ctx, c.connections, c.load(in), p.address)
	if err != nil {
		return nil, err
	}
	if _, err := f.driveLoad(ctx, b.duration/3, math.MaxInt64); err != nil {
		f.close()
		return nil, err
	}
	return &caseSide{program: p, fleet: f}, nil
}

// fillTimeout limits filling a program with polls.
const fillTimeout = 10 * time.Minute

// fillPolls sends exactly count requests.
func fillPolls(ctx context.Context, p *program, load workload, count int) error {
	f, err := newFleet(ctx, 256, load, p.address)
	if err != nil {
		return err
	}
	defer f.close()
	if _, err := f.driveLoad(ctx, fillTimeout, int64(count)); err != nil {
		return err
	}
	if sent := f.sent.Load(); sent != int64(count) {
		return fmt.Errorf("%d of %d requests in %s", sent, count, fillTimeout)
	}
	return nil
}

func (s *caseSide) measureRound(ctx context.Context, d time.Duration) error {
	before := s.program.cpuTime()
	stop := s.profile.start(ctx, s.program.client, d)
	sample, err := s.fleet.driveLoad(ctx, d, math.MaxInt64)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	sample.cpu = s.program.cpuTime() - before
	s.samples = append(s.samples, sample)
	return nil
}

// logf tells the one who waits how far we are.
func (b *bench) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(b.progress, format+"\n", args...) // a failure to report progress cannot be reported
}
