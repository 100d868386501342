package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// saidEvent is the name of the broadcaster's messages.
const saidEvent = "said"

// saidMessage is the data of the broadcaster's n-th message, from 1 on.
type saidMessage struct {
	N    int64 `json:"n"`
	Sent int64 `json:"sent"` // Unix time in nanoseconds
}

// subscriber is a victim that has the page open.
type subscriber struct {
	last atomic.Int64 // the last message
}

// subscribe opens the streams.
func (v *victims) subscribe(ctx context.Context) error {
	ctx, v.leave = context.WithCancel(ctx)
	credentials, err := newViewers(subscriberCount, "Usubscriber")
	if err != nil {
		return err
	}
	for i, credential := range credentials {
		one := victim{newClient(fmt.Sprintf("127.1.5.%d", i+1), false), credential, events}
		one.http.Timeout = 0 // the stream has no end
		response, err := openEvents(ctx, one, v.program.base)
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			_ = response.Body.Close() // the status is the error
			return fmt.Errorf("GET /events: %s", response.Status)
		}
		s := &subscriber{}
		v.subscribers = append(v.subscribers, s)
		v.alive.Go(func() { v.follow(ctx, s, response.Body) })
	}
	return nil
}

// follow reads events until the stream ends. An end before the victims leave is a
// failure of the program.
func (v *victims) follow(ctx context.Context, s *subscriber, body io.ReadCloser) {
	defer body.Close()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue
		}
		if m, ok := parseSaid(data); ok {
			v.receive(s, m)
		}
	}
	if ctx.Err() == nil {
		v.fail(events, "the stream of a subscriber ended")
	}
}

// parseSaid reads an envelope and reports whether it carries a broadcaster's message.
func parseSaid(envelope []byte) (saidMessage, bool) {
	if !bytes.Contains(envelope, []byte(`:`+saidEvent+`"`)) {
		return saidMessage{}, false
	}
	var e struct{ Data saidMessage }
	err := json.Unmarshal(envelope, &e)
	return e.Data, err == nil && e.Data.N > 0
}

func (v *victims) receive(s *subscriber, m saidMessage) {
	for missed := s.last.Load() + 1; missed < m.N; missed++ {
		v.fail(events, "a subscriber missed a broadcast")
	}
	s.last.Store(m.N)
	if sent := time.Unix(0, m.Sent); sent.After(*v.began.Load()) { // else its phase has counted it
		v.succeed(events, sent)
	}
}

// broadcast sends a message to all of the channel.
func (v *victims) broadcast(ctx context.Context, due time.Time, _ int) {
	message, _ := json.Marshal(saidMessage{N: v.said.Load() + 1, Sent: due.UnixNano()}) // numbers only
	body := fmt.Sprintf(`{"event":%q,"data":%s}`, saidEvent, message)
	status, err := v.broadcaster.send(ctx, http.MethodPost, v.program.base+"/broadcast", body)
	v.note(v.broadcaster, due, "POST /broadcast", status, err)
	if err == nil && status == http.StatusOK {
		v.said.Add(1)
	}
}

// awaitEvents waits until all subscribers received everything, or as long as a victim
// waits, and records those that did not.
func (v *victims) awaitEvents(ctx context.Context) {
	last := v.said.Load()
	ctx, cancel := context.WithTimeout(ctx, latencyLimit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		late := 0
		for _, s := range v.subscribers {
			if s.last.Load() < last {
				late++
			}
		}
		if late == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			for range late {
				v.fail(events, "a subscriber did not receive a broadcast in time")
			}
			return
		}
	}
}
