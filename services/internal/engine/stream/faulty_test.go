package stream_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

var errNetwork = errors.New("network: no answer")

// network is one engine's way to the shared store. It delays, loses requests,
// loses answers, delivers requests after their sender gave up, delivers them
// twice, and ends when the engine's process is killed.
type network struct {
	stream.Store
	mu     sync.Mutex
	rng    *rand.Rand
	faults float64 // probability of a fault in each call
	dead   bool
	late   *sync.WaitGroup
}

// roll draws a delay and which of n faults befalls a call, -1 for none.
func (net *network) roll(n int) (delay time.Duration, kind int, err error) {
	net.mu.Lock()
	defer net.mu.Unlock()
	if net.dead {
		return 0, 0, errNetwork
	}
	delay = time.Duration(net.rng.Int64N(int64(3 * time.Millisecond)))
	if net.rng.Float64() >= net.faults {
		return delay, -1, nil
	}
	return delay, net.rng.IntN(n), nil
}

func (net *network) kill() {
	net.mu.Lock()
	defer net.mu.Unlock()
	net.dead = true
}

func (net *network) heal() {
	net.mu.Lock()
	defer net.mu.Unlock()
	net.faults = 0
}

func (net *network) alive() bool {
	net.mu.Lock()
	defer net.mu.Unlock()
	return !net.dead
}

func (net *network) Append(ctx context.Context, chunk stream.Chunk) error {
	delay, kind, err := net.roll(5)
	if err != nil {
		return err
	}
	time.Sleep(delay)
	switch kind {
	case 0: // the request is lost
		return errNetwork
	case 1: // the store refuses
		return fault.New(fault.Storage, "disk full")
	case 2: // the request arrives long after its sender gave up on it
		net.late.Go(func() {
			time.Sleep(20 * delay)
			_ = net.Store.Append(context.Background(), chunk)
		})
		return errNetwork
	case 3: // the request is delivered twice, the second answer arrives
		_ = net.Store.Append(ctx, chunk)
		return net.Store.Append(ctx, chunk)
	}
	err = net.Store.Append(context.WithoutCancel(ctx), chunk)
	time.Sleep(delay / 2)
	if kind == 4 || !net.alive() { // the answer is lost
		return errNetwork
	}
	return err
}

func (net *network) Chunks(ctx context.Context, name string, after uint64) iter.Seq2[stream.Chunk, error] {
	return func(yield func(stream.Chunk, error) bool) {
		delay, kind, err := net.roll(2)
		time.Sleep(delay)
		if err != nil || kind == 0 {
			yield(stream.Chunk{}, errNetwork)
			return
		}
		for chunk, err := range net.Store.Chunks(ctx, name, after) {
			if !yield(chunk, err) {
				return
			}
			if kind == 1 { // the connection breaks in the middle
				yield(stream.Chunk{}, errNetwork)
				return
			}
		}
	}
}

func (net *network) Replace(ctx context.Context, chunk stream.Chunk, expect stream.Digest) error {
	delay, kind, err := net.roll(3)
	if err != nil {
		return err
	}
	time.Sleep(delay)
	switch kind {
	case 0: // the request is lost
		return errNetwork
	case 1: // the request arrives long after its sender gave up on it
		net.late.Go(func() {
			time.Sleep(20 * delay)
			_ = net.Store.Replace(context.Background(), chunk, expect)
		})
		return errNetwork
	}
	err = net.Store.Replace(context.WithoutCancel(ctx), chunk, expect)
	if kind == 2 || !net.alive() { // the answer is lost
		return errNetwork
	}
	return err
}

func (net *network) DeleteSnapshot(ctx context.Context, name string) error {
	delay, kind, err := net.roll(1)
	time.Sleep(delay)
	if err != nil || kind == 0 {
		return errNetwork
	}
	return net.Store.DeleteSnapshot(ctx, name)
}

func (net *network) SaveSnapshot(ctx context.Context, name string, snapshot stream.Snapshot) error {
	delay, kind, err := net.roll(1)
	time.Sleep(delay)
	if err != nil || kind == 0 {
		return errNetwork
	}
	return net.Store.SaveSnapshot(ctx, name, snapshot)
}

func (net *network) LoadSnapshot(ctx context.Context, name string) (stream.Snapshot, bool, error) {
	delay, kind, err := net.roll(1)
	time.Sleep(delay)
	if err != nil || kind == 0 {
		return stream.Snapshot{}, false, errNetwork
	}
	return net.Store.LoadSnapshot(ctx, name)
}

// skewedClock is a machine's clock: off by some time, and stepping.
type skewedClock struct {
	mu     sync.Mutex
	offset time.Duration
}

func (c *skewedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *skewedClock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

func (c *skewedClock) Sleep(ctx context.Context, d time.Duration) error {
	return stream.SystemClock().Sleep(ctx, d)
}
