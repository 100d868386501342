package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// subscribers listen to events, on a connection each or several on one. Each event it waits for carries
// a number.
type subscribers struct {
	count  int // of them
	conns  []net.Conn
	begun  sync.WaitGroup // until the stream of each has begun
	ended  sync.WaitGroup
	failed chan error // has one element when a connection has ended

	mu      sync.Mutex
	number  int64 // that is waited for
	arrived []time.Time
	whole   chan struct{} // closed when it has arrived everywhere
	events  atomic.Int64
	heard   chan struct{} // has one element when there was an event
}

// connecting limits the subscribers that connect at the same time.
const connecting = 64

// connectSubscribers connects listeners of one channel, each with a credential of its own,
// and returns when they all listen.
func connectSubscribers(ctx context.Context, address string, credentials []string) (*subscribers, error) {
	a := newSubscribers(len(credentials))
	a.conns = make([]net.Conn, len(credentials))
	group, dialing := errgroup.WithContext(ctx)
	group.SetLimit(connecting)
	for i, credential := range credentials {
		group.Go(func() error {
			c, err := dialConn(dialing, address)
			if err != nil {
				return err
			}
			a.conns[i] = c.tcp
			_, err = c.tcp.Write(appendRequest(nil, "GET", "events", credential, nil))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		a.close()
		return nil, err
	}
	for _, c := range a.conns {
		a.read(func() error { return a.readEvents(c) })
	}
	return a, a.awaitBegun(ctx)
}

func newSubscribers(count int) *subscribers {
	s := &subscribers{count: count, failed: make(chan error, 1), heard: make(chan struct{}, 1)}
	s.begun.Add(count)
	return s
}

// read runs the reader of a connection and keeps why the first of them ended.
func (s *subscribers) read(readEvents func() error) {
	s.ended.Go(func() {
		err := readEvents()
		select {
		case s.failed <- err:
		default:
		}
	})
}

// awaitBegun returns when the stream of each subscriber has begun. Otherwise it closes them.
func (s *subscribers) awaitBegun(ctx context.Context) (err error) {
	begun := make(chan struct{})
	go func() { s.begun.Wait(); close(begun) }()
	select {
	case <-begun:
		return nil
	case err = <-s.failed:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.close()
	return err
}

// readEvents reads one stream and returns why it ended.
func (s *subscribers) readEvents(c net.Conn) error {
	in := bufio.NewReaderSize(c, 1<<10)
	begun := false
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if bytes.HasPrefix(line, []byte("HTTP/1.1 ")) && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
			return fmt.Errorf("to listen is answered %q", line)
		}
		begun = s.readLine(line, begun)
	}
}

// readLine takes a line of a stream, and reports whether that has begun by now.
func (s *subscribers) readLine(line []byte, begun bool) bool {
	switch {
	case !begun && bytes.HasPrefix(line, []byte("id: ")):
		s.begun.Done()
		return true
	case bytes.HasPrefix(line, []byte("data: ")):
		s.receive(line, time.Now())
	}
	return begun
}

// receive notes the time of an event if it is the awaited one.
func (s *subscribers) receive(line []byte, at time.Time) {
	s.events.Add(1)
	select {
	case s.heard <- struct{}{}:
	default:
	}
	_, data, _ := bytes.Cut(line, []byte(`tick","data":`))
	number, err := strconv.ParseInt(string(bytes.TrimRight(data, "}\n")), 10, 64)
	if err != nil {
		return // of another sort
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if number != s.number {
		return
	}
	if s.arrived = append(s.arrived, at); len(s.arrived) == s.count {
		close(s.whole)
	}
}

// publish says something to the audience and returns how long that took to each,
// from before it was said.
func (s *subscribers) publish(ctx context.Context, say func(number int64) error) (delays []time.Duration, err error) {
	start := time.Now()
	arrived, err := s.awaitNext(ctx, say)
	for _, at := range arrived {
		delays = append(delays, at.Sub(start))
	}
	return delays, err
}

// awaitNext has the next number said, and returns when it has arrived at each subscriber.
func (s *subscribers) awaitNext(ctx context.Context, say func(number int64) error) ([]time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	s.mu.Lock()
	s.number++
	number, whole := s.number, make(chan struct{})
	s.arrived, s.whole = make([]time.Time, 0, s.count), whole
	s.mu.Unlock()
	if err := say(number); err != nil {
		return nil, err
	}
	select {
	case <-whole:
	case <-ctx.Done():
		return nil, fmt.Errorf("not every subscriber has received the event: %w", ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrived, nil
}

func (s *subscribers) close() {
	for _, c := range s.conns {
		if c != nil {
			_ = c.Close() // nothing is under way
		}
	}
	s.ended.Wait()
}
