package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// crowdCommand is the argument with which this program measures the listeners of one channel
// on several programs over one database.
const crowdCommand = "crowd"

// crowdMemory is the memory budget of each program, which admits 50,000 subscribers.
const crowdMemory = "2GiB"

// crowd is the listeners of one channel on several programs.
type crowd struct {
	*bench
	programs  *replicaLayout
	each      int  // listeners of a program
	shared    bool // connections, of HTTP/2
	messages  int
	listeners []*listenerProcess // by program
}

// crowdReport holds the costs of a crowd.
type crowdReport struct {
	programs, each, messages int
	memory                   clientMemory
	microsPerDelivery        float64 // of the programs' processor time
	connected                time.Duration
	delays                   *hdrhistogram.Histogram // of a message to each listener, in microseconds
}

// measureCrowd measures what each listener costs and how long a message takes to all of them
// when one of several programs takes it.
func measureCrowd(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	c := &crowd{bench: &bench{benchOptions: benchOptions{progress: stderr}}, programs: &replicaLayout{name: crowdCommand, flags: []string{"--memory-budget", crowdMemory}}}
	flags := flag.NewFlagSet("bench crowd", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&c.programs.replicas, "programs", 3, "`number` of programs")
	flags.IntVar(&c.each, "each", 11_500, "`listeners` of each program; one extension may have two thirds of its connections")
	flags.BoolVar(&c.shared, "http2", false, "have 100 listeners share a connection, as behind a proxy that speaks HTTP/2 to the programs")
	flags.IntVar(&c.messages, "messages", 20, "`number` of messages to all of them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if c.programs.replicas < 1 || c.each < 1 || c.messages < 1 {
		return errors.New("-programs, -each and -messages must be positive")
	}
	remove, err := c.prepare(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	db, err := openModel(ctx, c.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close(context.WithoutCancel(ctx), c.programs.name)) }()
	defer func() { err = errors.Join(err, c.programs.stop()) }()
	if err := c.launchReplicas(ctx, db, c.programs); err != nil {
		return err
	}
	r, err := c.measure(ctx)
	if err != nil {
		return err
	}
	return r.write(stdout)
}

func (c *crowd) measure(ctx context.Context) (r *crowdReport, err error) {
	r = &crowdReport{programs: c.programs.replicas, each: c.each, messages: c.messages, delays: newHistogram()}
	defer func() { err = errors.Join(err, c.leave()) }()
	before, err := c.measureMemory(ctx)
	if err != nil {
		return nil, err
	}
	c.logf("connecting %d listeners to each of %d programs", c.each, r.programs)
	begun := time.Now()
	if err := c.connectListeners(ctx); err != nil {
		return nil, err
	}
	r.connected = time.Since(begun)
	after, err := c.measureMemory(ctx)
	if err != nil {
		return nil, err
	}
	r.memory = memoryOfEach(before, after, r.programs*c.each)
	used := c.cpuTime()
	for n := range int64(c.messages) {
		c.logf("message %d of %d", n+1, c.messages)
		if err := c.sendMessage(ctx, n+1, r.delays); err != nil {
			return nil, err
		}
	}
	r.microsPerDelivery = float64((c.cpuTime() - used).Microseconds()) / float64(r.delays.TotalCount())
	return r, nil
}

// connectListeners starts a process of listeners for each program, all at once, and waits until
// they listen.
func (c *crowd) connectListeners(ctx context.Context) error {
	c.listeners = make([]*listenerProcess, len(c.programs.programs))
	var group errgroup.Group
	for i, p := range c.programs.programs {
		group.Go(func() (err error) {
			c.listeners[i], err = startListeners(ctx, p.address, i*c.each, c.each, c.shared)
			return err
		})
	}
	return group.Wait()
}

// sendMessage sends a message through the first program and records its delay to each listener.
func (c *crowd) sendMessage(ctx context.Context, number int64, delays *hdrhistogram.Histogram) error {
	for _, l := range c.listeners {
		if err := l.expectNext(); err != nil {
			return err
		}
	}
	start := time.Now()
	if err := c.programs.programs[0].broadcast(ctx, number); err != nil {
		return err
	}
	for _, l := range c.listeners {
		arrived, err := l.readArrivals()
		if err != nil {
			return fmt.Errorf("message %d: %w", number, err)
		}
		for _, at := range arrived {
			if err := delays.RecordValue(max(0, at-start.UnixMicro())); err != nil {
				return err
			}
		}
	}
	return nil
}

// leave ends all listeners.
func (c *crowd) leave() (err error) {
	for _, l := range c.listeners {
		if l != nil {
			err = errors.Join(err, l.stop())
		}
	}
	return err
}

// measureMemory returns the metrics of the memory of all programs together, after each has collected
// its garbage.
func (c *crowd) measureMemory(ctx context.Context) (harness.Metrics, error) {
	sum := harness.Metrics{}
	for _, p := range c.programs.programs {
		metrics, err := p.client.collectGarbage(ctx)
		if err != nil {
			return nil, err
		}
		for _, name := range []string{heapBytes, stackBytes, residentBytes} {
			sum[name] += metrics[name]
		}
	}
	return sum, nil
}

func (c *crowd) cpuTime() (sum time.Duration) {
	for _, p := range c.programs.programs {
		sum += p.cpuTime()
	}
	return sum
}

func (r *crowdReport) write(out io.Writer) error {
	_, err := fmt.Fprintf(out, `%d programs over one database, %d listeners each, all connected after %.0f s:
  memory of a listener                     %s
  processor time of a message to one       %.1f µs
  %d messages, through one program, to all %d: p50 %.0f ms, p99 %.0f ms, max %.0f ms
`, r.programs, r.each, r.connected.Seconds(), r.memory, r.microsPerDelivery, r.messages, r.programs*r.each,
		float64(r.delays.ValueAtQuantile(50))/1e3, float64(r.delays.ValueAtQuantile(99))/1e3, float64(r.delays.Max())/1e3)
	return err
}
