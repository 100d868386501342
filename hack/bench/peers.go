package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// peersCommand is the argument with which this program compares the program with other stores.
const peersCommand = "peers"

// peersFolder has their server, a module of its own.
const peersFolder = "hack/bench/peers"

// peerCase is a load in which the program and its peers are compared.
type peerCase struct {
	benchCase
	votes int // in a request
}

func peerCases() []peerCase {
	return []peerCase{
		{benchCase{name: "single", label: "POST /vote, one vote each", connections: 256,
			load: func(in *loadInputs) workload { return &freshVotes{"single", in.viewers} }}, 1},
		{benchCase{name: "batches", label: "POST /votes, 1,000 votes each", connections: 4,
			load: func(in *loadInputs) workload { return &freshBatches{"batch", in.backend} }}, votesTogether},
	}
}

// peerResult is one store in one case.
type peerResult struct {
	Case           string  `json:"case"`
	Label          string  `json:"label"`
	Store          string  `json:"store"`
	VotesPerSecond float64 `json:"votesPerSecond"`
	// Margin is the rate of the program as a multiple of this store's.
	Margin    float64 `json:"margin"`
	P50Micros float64 `json:"p50Micros"`
	P99Micros float64 `json:"p99Micros"`
	// CPUMicros is processor time a vote, of the server and its database together.
	CPUMicros float64 `json:"cpuMicrosPerVote"`
}

// programName is the name of the program among its peers.
const programName = "acclaim"

// comparePeers measures the program and other stores behind the same requests, in turns, each
// vote by a voter who has not voted in its poll, and checks every count.
func comparePeers(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	b, stores, asJSON, err := parsePeers(args, stderr)
	if err != nil {
		return err
	}
	r, err := b.measurePeers(ctx, stores)
	if err != nil {
		return err
	}
	if asJSON {
		return r.writeJSON(stdout)
	}
	return r.writeTable(stdout)
}

func parsePeers(args []string, stderr io.Writer) (b *bench, stores []string, asJSON bool, err error) {
	b = &bench{benchOptions: benchOptions{progress: stderr}}
	flags := flag.NewFlagSet("bench peers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&b.rounds, "rounds", 5, "measured `rounds` of each case, all stores in turns")
	flags.DurationVar(&b.duration, "duration", 3*time.Second, "`length` of a round")
	flags.IntVar(&b.voters, "voters", 50_000, "`number` of voters of a poll who vote one by one, signed in advance")
	flags.StringVar(&b.benchOptions.dir, "dir", "", "`directory` for the data, on the disk to be measured (default the system's for temporary files)")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	selected := flags.String("stores", "postgresql,redis,pocketbase", "comma-separated `names` of the stores to compare with")
	if err := flags.Parse(args); err != nil {
		return nil, nil, false, err
	}
	if flags.NArg() > 0 || b.rounds < 1 || b.duration <= 0 || b.voters < 1_000 {
		return nil, nil, false, errors.New("-rounds and -duration must be positive, -voters at least 1000, and nothing else is read")
	}
	return b, strings.Split(*selected, ","), asJSON, nil
}

// measurePeers builds and starts everything, measures, and leaves nothing behind.
func (b *bench) measurePeers(ctx context.Context, stores []string) (r report, err error) {
	if b.dir, err = os.MkdirTemp(b.benchOptions.dir, "acclaim-bench-"); err != nil {
		return report{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if err := os.Chmod(b.dir, 0o711); err != nil { //nolint:gosec // PostgreSQL runs as a user of its own, in a folder below
		return report{}, err
	}
	b.logf("building the program and its peers, and signing %d credentials", b.voters)
	if err := b.build(ctx); err != nil {
		return report{}, err
	}
	if r.Machine, err = describeMachine(b.dir); err != nil {
		return report{}, err
	}
	in, err := newInputs(b.voters)
	if err != nil {
		return report{}, err
	}
	programs, stop, err := b.startPeers(ctx, stores)
	defer func() { err = errors.Join(err, stop()) }()
	if err != nil {
		return report{}, err
	}
	for _, c := range peerCases() {
		results, err := b.comparePeerCase(ctx, c, in, append([]string{programName}, stores...), programs)
		if err != nil {
			return report{}, fmt.Errorf("case %s: %w", c.name, err)
		}
		r.Peers = append(r.Peers, results...)
	}
	return r, nil
}

// startPeers starts the program and its peers, in this order. stop ends those that it started,
// also after an error.
func (b *bench) startPeers(ctx context.Context, stores []string) (programs []*program, stop func() error, err error) {
	stop = func() error {
		var errs []error
		for _, p := range programs {
			errs = append(errs, p.stop())
		}
		return errors.Join(errs...)
	}
	subject, err := b.startServer(ctx, "data", b.binary, "serve")
	if err != nil {
		return nil, stop, err
	}
	programs = append(programs, subject)
	binary := filepath.Join(b.dir, "peers")
	compiler := exec.CommandContext(ctx, "go", "build", "-C", peersFolder, "-o", binary, ".")
	if out, err := compiler.CombinedOutput(); err != nil {
		return programs, stop, fmt.Errorf("build: %w\n%s", err, out)
	}
	for _, name := range stores {
		p, err := startCommand(ctx, nil, binary, "-data-dir", filepath.Join(b.dir, name), name)
		if err != nil {
			return programs, stop, fmt.Errorf("%s: %w", name, err)
		}
		programs = append(programs, p)
	}
	return programs, stop, nil
}

// comparePeerCase measures one case on all stores in turns and checks their counts.
func (b *bench) comparePeerCase(ctx context.Context, c peerCase, in *loadInputs, names []string, programs []*program) ([]peerResult, error) {
	sides := make([]*caseSide, len(programs))
	for i, p := range programs {
		s, err := b.prepareSide(ctx, c.benchCase, in, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", names[i], err)
		}
		defer s.fleet.close()
		sides[i] = s
	}
	for round := range b.rounds {
		for turn := range sides {
			i := (round + turn) % len(sides)
			if err := sides[i].measureRound(ctx, b.duration); err != nil {
				return nil, fmt.Errorf("%s: %w", names[i], err)
			}
			b.logf("%-8s round %d of %d: %-10s %9.0f votes/s", c.name, round+1, b.rounds, names[i], sides[i].samples[round].throughput()*float64(c.votes))
		}
	}
	results := make([]peerResult, len(sides))
	for i, s := range sides {
		b.logf("%-8s checking the %d requests of %s", c.name, s.fleet.sent.Load(), names[i])
		if err := s.fleet.load.verify(ctx, s.program.client, s.fleet.sent.Load()); err != nil {
			return nil, fmt.Errorf("%s is not exact: %w", names[i], err)
		}
		f := medianFigures(s.samples)
		results[i] = peerResult{
			Case: c.name, Label: c.label, Store: names[i], VotesPerSecond: f.RequestsPerSecond * float64(c.votes),
			P50Micros: f.P50Micros, P99Micros: f.P99Micros, CPUMicros: f.CPUMicros / float64(c.votes),
		}
		results[i].Margin = results[0].VotesPerSecond / results[i].VotesPerSecond
	}
	return results, nil
}

func writePeers(b *strings.Builder, results []peerResult) {
	for group := range slices.Values(splitPeers(results)) {
		fmt.Fprintf(b, "%s; latency in ms of a request, CPU in µs a vote with the database's:\n", group[0].Label)
		columns := newColumns(b)
		fmt.Fprintln(columns, "store\tvotes/s\tmargin\tp50\tp99\tCPU\t")
		for _, r := range group {
			fmt.Fprintf(columns, "%s\t%.0f\t%.1f\t%.2f\t%.2f\t%s\t\n", r.Store, r.VotesPerSecond, r.Margin, r.P50Micros/1e3, r.P99Micros/1e3,
				formatFigure(r.CPUMicros, "%.2f"))
		}
		_ = columns.Flush() // a strings.Builder takes everything
		b.WriteByte('\n')
	}
}

// splitPeers splits results by their cases.
func splitPeers(results []peerResult) (groups [][]peerResult) {
	for i, r := range results {
		if i == 0 || r.Case != results[i-1].Case {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], r)
	}
	return groups
}
