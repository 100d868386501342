package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// sinksReport holds the costs of sinks.
type sinksReport struct {
	// Votes a second on a hot poll with a webhook and the platform's pub/sub, and
	// without.
	With    float64 `json:"votesPerSecondWithSinks"`
	Without float64 `json:"votesPerSecondWithout"`
	Ratio   float64 `json:"ratio"`
	// Requests are those that the sinks made meanwhile.
	Requests float64 `json:"requests"`
}

// measureSinks measures votes at full speed in one poll, by two programs in turns:
// only one delivers to other systems. It checks that they receive the last figure.
func (b *bench) measureSinks(ctx context.Context) (r *sinksReport, err error) {
	in, err := newInputs(b.voters)
	if err != nil {
		return nil, err
	}
	to, err := startReceiver(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, to.server.Close()) }()
	registries := []string{b.registry, filepath.Join(b.dir, "sinks.yaml")}
	if err := os.WriteFile(registries[1], []byte(to.registryFile()), 0o600); err != nil {
		return nil, err
	}
	c := benchCase{name: "sinks", connections: 256, load: func(in *loadInputs) workload { return newVotes("told", 1, in.viewers) }}
	var sides [2]*caseSide // without and with
	for i, registry := range registries {
		p, err := startProcess(ctx, nil, b.binary, "serve", registry, fmt.Sprint(filepath.Join(b.dir, "sinks"), i), "--sink-allow-private")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, p.stop()) }()
		if sides[i], err = b.prepareSide(ctx, c, in, p); err != nil {
			return nil, err
		}
		defer sides[i].fleet.close()
	}
	for turn := range 2 * b.rounds {
		if err := sides[(turn+turn/2)%2].measureRound(ctx, b.duration); err != nil {
			return nil, err
		}
	}
	r = &sinksReport{With: median(sides[1].samples, roundSample.throughput), Without: median(sides[0].samples, roundSample.throughput)}
	r.Ratio = r.With / r.Without
	b.logf("sinks      %.0f votes/s with, %.0f without", r.With, r.Without)
	for _, s := range sides {
		if err := s.fleet.load.verify(ctx, s.program.client, s.fleet.sent.Load()); err != nil {
			return nil, err
		}
	}
	var final statistics
	if err := sides[1].program.client.get(ctx, "vote?id=told-0", decodeInto(&final)); err != nil {
		return nil, err
	}
	r.Requests, err = to.awaitDelivery(ctx, final.Count)
	return r, err
}

// receiver is another system. It accepts every delivery.
type receiver struct {
	server  *http.Server
	address string
	heard   chan told
}

// told is the poll's figure in a request.
type told struct {
	path  string
	count int64
}

func startReceiver(ctx context.Context) (*receiver, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{address: listener.Addr().String(), heard: make(chan told, 1<<16)}
	r.server = &http.Server{Handler: http.HandlerFunc(r.receive), ReadHeaderTimeout: grace}
	go func() { _ = r.server.Serve(listener) }() // until it is closed
	return r, nil
}

// registryFile declares sinks that lead to the receiver.
func (r *receiver) registryFile() string {
	sinks := fmt.Sprintf("  sinks:\n  - {name: hook, webhook: {url: %q, secrets: [{value: aG9vay1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}}\n  - {name: viewers, pubsub: {url: %q}}\n",
		"http://"+r.address+"/hook", "http://"+r.address+"/pubsub")
	return strings.Replace(registry, "  sandbox:\n", sinks+"  sandbox:\n", 1)
}

func (r *receiver) receive(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // it was cut off, and comes again
	}
	var p struct{ Message string }
	if err := json.Unmarshal(body, &p); err == nil && p.Message != "" {
		body = []byte(p.Message)
	}
	var e struct{ Data struct{ Stats statistics } }
	if err := json.Unmarshal(body, &e); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	select {
	case r.heard <- told{request.URL.Path, e.Data.Stats.Count}:
	case <-request.Context().Done():
	}
	w.WriteHeader(http.StatusNoContent)
}

// awaitDelivery waits until both sinks have told of a count, and returns how many requests
// there were.
func (r *receiver) awaitDelivery(ctx context.Context, count int64) (requests float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	last := map[string]int64{}
	for last["/hook"] != count || last["/pubsub"] != count {
		select {
		case t := <-r.heard:
			requests++
			last[t.path] = t.count
		case <-ctx.Done():
			return math.NaN(), fmt.Errorf("of %d votes the sinks have told %v", count, last)
		}
	}
	return requests, nil
}

func (r *sinksReport) write(b *strings.Builder) {
	fmt.Fprintf(b, "  votes, one hot poll   %.0f/s with a webhook and the pub/sub, %.0f/s without: %.2f (target %.2f: %s); %.0f requests of the sinks\n",
		r.With, r.Without, r.Ratio, listenTarget, verdictText(r.Ratio >= listenTarget), r.Requests)
}
