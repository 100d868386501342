package main

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// retentionInterval is from one look at everything to the next. Ages are in hours.
const retentionInterval = time.Hour

// messageAge is after how long messages leave the logs of all feeds, whatever the
// registry says. Nobody can ask for one that is no longer at hand, and what is at hand
// stays in the base; a day is for those who look into a log.
const messageAge = 24 * time.Hour

// trimmer is a domain as retention sees it.
type trimmer interface {
	Trimmable(ctx context.Context, name string, before time.Time) (bool, error)
	Trim(ctx context.Context, name string, before time.Time) (stream.Trimmed, error)
	DropSnapshot(ctx context.Context, name string, before time.Time) (bool, error)
}

// keeper takes out what extensions do not want to keep any longer.
type keeper struct {
	store    archive
	domains  map[string]trimmer // by kind of streams
	registry func() *tenant.Registry
	clock    stream.Clock
	logger   *slog.Logger

	chunks, bytes, snapshots atomic.Uint64 // taken out
}

// newKeeper returns a keeper of the streams that this process serves.
func newKeeper(store archive, d *domains, clock stream.Clock) *keeper {
	k := &keeper{store: store, domains: map[string]trimmer{}, clock: clock}
	if d.voting != nil {
		k.domains[voting.Kind] = d.voting
	}
	if d.accumulation != nil {
		k.domains[accumulation.Kind] = d.accumulation
	}
	if d.ranking != nil {
		k.domains[ranking.Kind] = d.ranking
	}
	if d.messages != nil {
		k.domains[message.Kind] = d.messages
	}
	return k
}

// counts returns what was taken out since the process began.
func (k *keeper) counts() (chunks, bytes, snapshots uint64) {
	return k.chunks.Load(), k.bytes.Load(), k.snapshots.Load()
}

// run looks at everything now and then until ctx is done. Processes that share a
// database do not begin at the same time. The first look is at every chunk, so that it
// finds what an earlier process has not finished.
func (k *keeper) run(ctx context.Context) {
	pause := rand.N(retentionInterval)
	for first := true; k.clock.Sleep(ctx, pause) == nil; first = false {
		if err := k.pass(ctx, first); err != nil && ctx.Err() == nil {
			k.logger.Warn("retention did not look at everything", "error", err)
		}
		pause = retentionInterval
	}
}

// pass looks at every extension once.
func (k *keeper) pass(ctx context.Context, thorough bool) error {
	var errs []error
	for extension := range k.registry().Extensions() {
		for _, environment := range []tenant.Environment{tenant.Production, tenant.Sandbox} {
			r := extension.Retention(environment)
			for kind, age := range map[string]time.Duration{
				voting.Kind:       r.Logs,
				accumulation.Kind: r.Buffers,
				ranking.Kind:      r.Rankings,
				message.Kind:      messageAge,
			} {
				domain, served := k.domains[kind]
				if !served || age == 0 && r.Snapshots == 0 {
					continue
				}
				prefix := key.Join(kind, string(environment), extension.ClientID) + "/"
				errs = append(errs, k.all(ctx, domain, prefix, age, r.Snapshots, thorough))
			}
		}
	}
	return errors.Join(errs...)
}

// all looks at the streams whose names begin with prefix. One that cannot be trimmed
// keeps no other from it.
func (k *keeper) all(ctx context.Context, domain trimmer, prefix string, age, snapshots time.Duration, thorough bool) error {
	var errs []error
	before, bytes := k.chunks.Load(), k.bytes.Load()
	for name, err := range k.store.Streams(ctx, prefix) {
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		began := k.clock.Now()
		errs = append(errs, k.one(ctx, domain, name, age, snapshots, thorough))
		// As long a pause as the work took: half of a connection's time at most.
		if err := k.clock.Sleep(ctx, k.clock.Now().Sub(began)); err != nil {
			return err
		}
	}
	if n := k.chunks.Load() - before; n > 0 {
		k.logger.Info("took out what is too old", "streams", prefix, "chunks", n, "bytes", k.bytes.Load()-bytes)
	}
	return errors.Join(errs...)
}

// one looks at one stream.
func (k *keeper) one(ctx context.Context, domain trimmer, name string, age, snapshots time.Duration, thorough bool) error {
	now := k.clock.Now()
	if age > 0 {
		due, err := domain.Trimmable(ctx, name, now.Add(-age))
		if err != nil {
			return err
		}
		if due || thorough {
			done, err := domain.Trim(ctx, name, now.Add(-age))
			k.chunks.Add(done.Chunks)
			k.bytes.Add(done.Bytes)
			if err != nil {
				return err
			}
		}
	}
	if snapshots == 0 {
		return nil
	}
	dropped, err := domain.DropSnapshot(ctx, name, now.Add(-snapshots))
	if dropped && err == nil {
		k.snapshots.Add(1)
	}
	return err
}
