package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// The ordinary load: each victim has a credential and an address of its own.
const (
	voterCount      = 40 // over kept connections
	voterPause      = 200 * time.Millisecond
	readerCount     = 10
	newcomerCount   = 10 // a connection for each request
	newcomerPause   = 500 * time.Millisecond
	subscriberCount = 20
	broadcastPause  = 250 * time.Millisecond
	probePause      = 250 * time.Millisecond
)

// mainPoll is the poll that staff configured and the victims vote in.
const mainPoll = "main"

// victims are the ordinary load of a program.
type victims struct {
	*victimRecorder
	program     *program
	bases       []string // of the API of each process that they vote through
	broadcaster victim
	staff       victim // at the page of staff
	players     players
	voters      []victim
	readers     []victim
	newcomers   []victim
	probe       victim
	subscribers []*subscriber
	said        atomic.Int64              // broadcasts so far
	began       atomic.Pointer[time.Time] // the current phase
	alive       sync.WaitGroup
	leave       context.CancelFunc
}

// victim is one person with a browser.
type victim struct {
	http       *http.Client
	credential string
	kind       victimKind
}

// newVictims lets the broadcaster configure the poll and the subscribers subscribe.
func newVictims(ctx context.Context, p *program, members []*program) (*victims, error) {
	v := &victims{victimRecorder: newRecorder(), program: p, bases: []string{p.base}, probe: victim{http: newClient("127.1.0.2", true), kind: connections}}
	for _, m := range members {
		v.bases = append(v.bases, m.base)
	}
	staff, err := newCredential(extension, "broadcaster", channel, "U-broadcaster")
	if err != nil {
		return nil, err
	}
	v.broadcaster = victim{newClient("127.1.0.1", false), staff, requests}
	v.staff = victim{newClient("127.1.0.3", false), staff, requests}
	config := `{"id":"` + mainPoll + `","config":{"options":["left","right"]}}`
	if status, err := v.broadcaster.send(ctx, http.MethodPost, p.base+"/vote_config", config); err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("configure the poll: %d, %w", status, err)
	}
	for _, group := range []struct {
		to     *[]victim
		count  int
		prefix string
		subnet int
		kind   victimKind
	}{{&v.voters, voterCount, "Uvoter", 2, requests}, {&v.readers, readerCount, "Ureader", 3, requests}, {&v.newcomers, newcomerCount, "Unewcomer", 4, connections}} {
		credentials, err := newViewers(group.count, group.prefix)
		if err != nil {
			return nil, err
		}
		for i, c := range credentials {
			*group.to = append(*group.to, victim{newClient(fmt.Sprintf("127.1.%d.%d", group.subnet, i+1), group.kind == connections), c, group.kind})
		}
	}
	if err := v.startGame(ctx); err != nil {
		return nil, err
	}
	return v, v.subscribe(ctx)
}

// newClient returns a client with at most one connection, from a loopback address. A
// fresh one connects for each request.
func newClient(address string, fresh bool) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Timeout: latencyLimit, Transport: &http.Transport{
		DialContext: dialer.DialContext, MaxConnsPerHost: 1, DisableKeepAlives: fresh, DisableCompression: true}}
}

// send makes a request and returns its status. It reads the answer to its end.
func (v victim) send(ctx context.Context, method, url, body string) (int, error) {
	status, _, err := harness.Ask(ctx, v.http, method, url, v.credential, body)
	return status, err
}

// live runs the ordinary load until the context is done, and waits for the answers
// to what it sent.
func (v *victims) live(ctx context.Context) {
	now := time.Now()
	v.began.Store(&now)
	var all sync.WaitGroup
	keep := func(pause time.Duration, do func(ctx context.Context, due time.Time, n int)) {
		all.Go(func() { pace(ctx, pause, do) })
	}
	for i, one := range v.voters {
		keep(voterPause, func(ctx context.Context, due time.Time, n int) { v.vote(ctx, one, v.bases[i%len(v.bases)], due, i+n) })
	}
	for _, one := range v.readers {
		keep(voterPause, func(ctx context.Context, due time.Time, _ int) {
			v.expect(ctx, one, due, http.MethodGet, v.program.base+"/vote?id="+mainPoll, "")
		})
	}
	for i, one := range v.newcomers {
		keep(newcomerPause, func(ctx context.Context, due time.Time, n int) {
			if (i+n)%3 == 0 {
				v.lookAtEvents(ctx, one, due)
			} else {
				v.vote(ctx, one, v.program.base, due, i+n)
			}
		})
	}
	keep(probePause, func(ctx context.Context, due time.Time, _ int) {
		v.expect(ctx, v.probe, due, http.MethodGet, v.program.admin+"/readyz", "")
	})
	keep(broadcastPause, v.broadcast)
	keep(staffPause, v.manage)
	keep(playPause, func(ctx context.Context, due time.Time, _ int) { v.play(ctx, due) })
	keep(pairPause, func(ctx context.Context, due time.Time, _ int) { v.joinGame(ctx, due) })
	all.Wait()
	v.awaitEvents(context.WithoutCancel(ctx))
}

// pace calls do each pause until the context is done, later ones at once when an
// earlier one took longer. What has begun may end after the context.
func pace(ctx context.Context, pause time.Duration, do func(ctx context.Context, due time.Time, n int)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	due := time.Now()
	for n := 0; ; n++ {
		timer.Reset(time.Until(due))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		if ctx.Err() != nil {
			return // when both are possible
		}
		do(context.WithoutCancel(ctx), due, n)
		due = due.Add(pause)
	}
}

func (v *victims) vote(ctx context.Context, one victim, base string, due time.Time, n int) {
	v.expect(ctx, one, due, http.MethodPost, base+"/vote?id="+mainPoll, fmt.Sprintf(`{"value":%d}`, n%2))
}

// expect makes a request whose answer must be 200.
func (v *victims) expect(ctx context.Context, one victim, due time.Time, method, url, body string) {
	status, err := one.send(ctx, method, url, body)
	v.note(one, due, method+" "+pathOf(url), status, err)
}

func pathOf(url string) string {
	path, _, _ := strings.Cut(url, "?")
	return path[strings.LastIndexByte(path, '/'):]
}

func (v *victims) note(one victim, due time.Time, what string, status int, err error) {
	switch {
	case err != nil:
		v.fail(one.kind, what+": "+describeError(err))
	case status == http.StatusServiceUnavailable || status == http.StatusInternalServerError:
		v.refuse()
	case status != http.StatusOK:
		v.fail(one.kind, fmt.Sprintf("%s: %d", what, status))
	default:
		v.succeed(one.kind, due)
	}
}

// describeError returns the innermost cause, so that equal failures count as one.
func describeError(err error) string {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "timeout"
	}
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err.Error()
}

// lookAtEvents opens a page of the extension and closes it: a stream of everything
// that concerns the viewer.
func (v *victims) lookAtEvents(ctx context.Context, one victim, due time.Time) {
	response, err := openEvents(ctx, one, v.program.base)
	if err != nil {
		v.note(one, due, "GET /events", 0, err)
		return
	}
	_ = response.Body.Close() // nothing is expected of it
	v.note(one, due, "GET /events", response.StatusCode, nil)
}

func openEvents(ctx context.Context, one victim, base string) (*http.Response, error) {
	return harness.Send(ctx, one.http, http.MethodGet, base+"/events", one.credential, "")
}

// close ends the subscribers and all connections.
func (v *victims) close() {
	v.leave()
	v.alive.Wait()
	v.players.playing.end()
	for _, one := range append(append(append([]victim{v.broadcaster, v.staff, v.players.asking}, v.voters...), v.readers...), v.newcomers...) {
		one.http.CloseIdleConnections()
	}
}
