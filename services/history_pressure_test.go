package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// leastMemory is the least budget of a program.
	leastMemory = "64MiB"
	// hogs use up what such programs have: a request adds 100 kB to the states of polls, for
	// which a program has 5 MiB.
	hogs, hogPolls, hogRequests = 3, 20, 200
)

// pressure is the use of the programs' memory by others than the clients.
type pressure struct {
	accepted, refused atomic.Int64 // requests
	end               func()
	evicted           int // polls, from the memory of one program
}

// press has hogs use up the memory of the programs from the first round to the last.
func (w *historyWorld) press(round int) {
	w.notePressure()
	switch round {
	case 0:
		ctx, cancel := context.WithCancel(w.fleet.t.Context())
		var all sync.WaitGroup
		w.pressure.end = func() { cancel(); all.Wait() }
		w.fleet.t.Cleanup(w.pressure.end)
		for hog := range hogs {
			all.Go(func() {
				pause := time.NewTicker(100 * time.Millisecond)
				defer pause.Stop()
				for i := hog; ctx.Err() == nil && i < hogs*hogRequests; i += hogs {
					w.useMemory(ctx, i)
					<-pause.C
				}
			})
		}
	case historyRounds - 1:
		w.pressure.end()
	}
}

// useMemory makes voters known, whose keys are kept, has a long log folded and sends a large body.
func (w *historyWorld) useMemory(ctx context.Context, i int) {
	header, id := sign(w.fleet.t, "backend", "H"), fmt.Sprint("hog-", i%hogPolls)
	votes := make([]string, 1000)
	for v := range votes {
		votes[v] = fmt.Sprintf(`{"opaque_user_id":"H%d-%d","value":1,"key":"%d-%d"}`, i, v, i, v)
	}
	for _, r := range []struct{ method, path, body string }{
		{"POST", "/votes?id=" + id, `{"votes":[` + strings.Join(votes, ",") + `]}`},
		{"GET", "/vote_logs?id=" + id, ""},
		{"POST", "/accumulate?id=hogs", fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 60_000))},
	} {
		switch status, answer := sendOnce(ctx, w.base(i), r.method, r.path, header, "", r.body); status {
		case http.StatusOK:
			w.pressure.accepted.Add(1)
		case http.StatusServiceUnavailable, http.StatusTooManyRequests:
			w.pressure.refused.Add(1)
		case 0, http.StatusInternalServerError:
		default:
			w.fleet.t.Errorf("%s %s: %d %s", r.method, r.path, status, answer)
		}
	}
}

// notePressure notes the most polls that one of the programs has evicted.
func (w *historyWorld) notePressure() {
	for place := range w.uris {
		p := w.fleet.any(place)
		w.pressure.evicted = max(w.pressure.evicted, metric(w.fleet.t, p, `acclaim_stream_evictions_total{domain="voting"}`))
	}
}
