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
)

// bench is what all measurements share.
type bench struct {
	options
	dir      string // everything is below it
	binary   string
	registry string
}

// measure runs everything the options ask for and leaves nothing behind.
func measure(ctx context.Context, o options) (r report, err error) {
	dir, err := os.MkdirTemp(o.dir, "acclaim-bench-")
	if err != nil {
		return report{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{options: o, dir: dir}
	b.say("building the program and signing %d credentials", o.voters)
	if b.registry, err = writeRegistry(dir); err != nil {
		return report{}, err
	}
	if b.binary, err = build(ctx, dir); err != nil {
		return report{}, err
	}
	if r.Machine, err = describeMachine(dir); err != nil {
		return report{}, err
	}
	if r.Cases, err = b.measureCases(ctx); err != nil {
		return report{}, err
	}
	if o.replicas {
		if r.Replicas, err = b.measureReplicas(ctx); err != nil {
			return report{}, fmt.Errorf("replicas: %w", err)
		}
	}
	if o.listeners > 0 {
		if r.Live, err = b.measureEvents(ctx); err != nil {
			return report{}, fmt.Errorf("events: %w", err)
		}
	}
	if o.pollSize > 0 {
		r.Poll, err = b.measurePoll(ctx)
	}
	return r, err
}

func (b *bench) measureCases(ctx context.Context) (results []result, err error) {
	in, err := newInputs(b.voters)
	if err != nil {
		return nil, err
	}
	ceiling, err := b.start(ctx, "ceiling", "ceiling")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ceiling.stop()) }()
	subject, err := b.start(ctx, "serve", "data")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, subject.stop()) }()
	for _, c := range cases() {
		if !slices.Contains(b.cases, c.name) {
			continue
		}
		result, err := b.compare(ctx, c, in, ceiling, subject)
		if err != nil {
			return nil, fmt.Errorf("case %s: %w", c.name, err)
		}
		results = append(results, result)
	}
	return results, nil
}

func (b *bench) start(ctx context.Context, subcommand, data string) (*program, error) {
	return start(ctx, nil, b.binary, subcommand, b.registry, filepath.Join(b.dir, data))
}

// side is a program in one case: the ceiling or the subject.
type side struct {
	program *program
	fleet   *fleet
	samples []sample
}

// compare measures one case on both programs in turns and checks the counts.
func (b *bench) compare(ctx context.Context, c benchCase, in *inputs, ceiling, subject *program) (result, error) {
	var sides [2]*side
	for i, p := range []*program{ceiling, subject} {
		s, err := b.prepare(ctx, c, in, p)
		if err != nil {
			return result{}, err
		}
		defer s.fleet.close()
		sides[i] = s
	}
	for round := range b.rounds {
		for turn := range sides {
			if err := sides[(round+turn)%2].measure(ctx, b.duration); err != nil {
				return result{}, err
			}
		}
		b.say("%-10s round %d of %d: ceiling %7.0f/s, program %7.0f/s", c.name, round+1, b.rounds,
			sides[0].samples[round].throughput(), sides[1].samples[round].throughput())
	}
	b.say("%-10s checking %d answers", c.name, sides[1].fleet.sent.Load())
	if err := sides[1].fleet.load.verify(ctx, subject.client, sides[1].fleet.sent.Load()); err != nil {
		return result{}, fmt.Errorf("not exact: %w", err)
	}
	return newResult(c, sides[0].samples, sides[1].samples), nil
}

// prepare fills a program and warms it up.
func (b *bench) prepare(ctx context.Context, c benchCase, in *inputs, p *program) (*side, error) {
	if c.fill != nil {
		if err := fill(ctx, p, c.fill(in), len(in.viewers)); err != nil {
			return nil, err
		}
	}
	f, err := newFleet(ctx, c.connections, c.load(in), p.address)
	if err != nil {
		return nil, err
	}
	if _, err := f.drive(ctx, b.duration/3, math.MaxInt64); err != nil {
		f.close()
		return nil, err
	}
	return &side{program: p, fleet: f}, nil
}

// fillLimit is how long filling may take.
const fillLimit = 10 * time.Minute

// fill sends exactly count requests.
func fill(ctx context.Context, p *program, load workload, count int) error {
	f, err := newFleet(ctx, 256, load, p.address)
	if err != nil {
		return err
	}
	defer f.close()
	if _, err := f.drive(ctx, fillLimit, int64(count)); err != nil {
		return err
	}
	if sent := f.sent.Load(); sent != int64(count) {
		return fmt.Errorf("%d of %d requests in %s", sent, count, fillLimit)
	}
	return nil
}

func (s *side) measure(ctx context.Context, d time.Duration) error {
	before := s.program.cpu()
	sample, err := s.fleet.drive(ctx, d, math.MaxInt64)
	if err != nil {
		return err
	}
	sample.cpu = s.program.cpu() - before
	s.samples = append(s.samples, sample)
	return nil
}

// say tells the one who waits how far we are.
func (b *bench) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.progress, format+"\n", args...) // nobody to tell if that fails
}
