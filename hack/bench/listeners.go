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

// subscribers is connections that listen to events. Each event it waits for carries
// a number.
type subscribers struct {
	conns []net.Conn
	begun sync.WaitGroup // until the stream of each has begun
	ended sync.WaitGroup

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
	a := &subscribers{conns: make([]net.Conn, len(credentials)), heard: make(chan struct{}, 1)}
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
	failed := make(chan error, 1)
	for _, c := range a.conns {
		a.begun.Add(1)
		a.ended.Go(func() {
			err := a.readEvents(c)
			select {
			case failed <- err:
			default:
			}
		})
	}
	begun := make(chan struct{})
	go func() { a.begun.Wait(); close(begun) }()
	select {
	case <-begun:
		return a, nil
	case err := <-failed:
		a.close()
		return nil, err
	case <-ctx.Done():
		a.close()
		return nil, ctx.Err()
	}
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
		switch {
		case bytes.HasPrefix(line, []byte("HTTP/1.1 ")) && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")):
			return fmt.Errorf("to listen is answered %q", line)
		case !begun && bytes.HasPrefix(line, []byte("id: ")):
			begun = true
			s.begun.Done()
		case bytes.HasPrefix(line, []byte("data: ")):
			s.receive(line, time.Now())
		}
	}
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
	if s.arrived = append(s.arrived, at); len(s.arrived) == len(s.conns) {
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
	s.arrived, s.whole = make([]time.Time, 0, len(s.conns)), whole
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
