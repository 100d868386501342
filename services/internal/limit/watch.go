package limit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Scope names the holders of a bound.
type Scope uint8

// The scopes.
const (
	Everyone  Scope = iota // all that this process, or all processes together, have
	Public                 // without a credential
	Sandboxes              // of all extensions
	Extension
	Viewers // of an extension
	Channel
	Staff // of a channel
	Identity
	Address
	// FairShare is the part of a party in what several share, while that is nearly used up.
	FairShare
)

// String returns the name of a scope in the metric and the log.
func (s Scope) String() string {
	return [...]string{"all", "public", "sandboxes", "extension", "viewers", "channel", "staff", "identity", "address", "fair_share"}[s]
}

// Caller names a caller that may be refused. The metric leaves its channel out.
type Caller struct{ Environment, Extension, Channel string }

// Refusal is the error of a bound that is reached.
type Refusal struct {
	// Limit names the pool or the kind, Scope the holder of the bound that is reached.
	Limit string
	Scope Scope
	// Full reports that a pool is used up.
	Full bool
	// Retry is the time until a ledger can grant the claims.
	Retry time.Duration
}

func (r *Refusal) Error() string { return "limit: " + r.Limit + " of " + r.Scope.String() }

// Fault turns a refusal into fault.Unavailable where a pool is used up, else into
// fault.RateLimited, with a reason. Another error stays.
func Fault(err error, reason string) error {
	refusal, ok := errors.AsType[*Refusal](err)
	switch {
	case !ok:
		return err
	case refusal.Full:
		return fault.Wrap(fault.Unavailable, err, reason)
	}
	return fault.Wrap(fault.RateLimited, err, reason)
}

// Bound is a bound and the caller that reaches it, as the metric and the log name them.
type Bound struct {
	Limit                  string
	Scope                  Scope
	Environment, Extension string
}

const (
	// maxBounds limits the bounds whose refusals are counted apart. Extensions beyond count
	// as otherExtension.
	maxBounds      = 1 << 10
	otherExtension = "other"
	// logEvery is the least time between two lines in the log about one bound.
	logEvery = time.Minute
)

// Watch knows the pools of a process, and counts and logs which callers are refused at which
// bound. A nil Watch does nothing.
type Watch struct {
	logger *slog.Logger

	mu     sync.Mutex
	pools  map[string]func() Stats
	bounds map[Bound]*boundState
}

type boundState struct {
	refused uint64
	seldom  rate.Sometimes
}

// NewWatch returns a watch that has seen nothing yet.
func NewWatch(logger *slog.Logger) *Watch {
	return &Watch{logger: logger, pools: map[string]func() Stats{}, bounds: map[Bound]*boundState{}}
}

func (w *Watch) addPool(name string, stats func() Stats) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pools[name] = stats
}

// Pools returns the figures of all pools, by name.
func (w *Watch) Pools() map[string]Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	figures := make(map[string]Stats, len(w.pools))
	for name, stats := range w.pools {
		figures[name] = stats()
	}
	return figures
}

// Refusals returns how often each bound was reached, since the start.
func (w *Watch) Refusals() map[Bound]uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	refusals := make(map[Bound]uint64, len(w.bounds))
	for b, state := range w.bounds {
		refusals[b] = state.refused
	}
	return refusals
}

// Note counts a refusal. Pools and ledgers do so themselves.
func (w *Watch) Note(limit string, scope Scope, caller Caller) {
	if w == nil {
		return
	}
	state, refused := w.count(Bound{limit, scope, caller.Environment, caller.Extension})
	state.seldom.Do(func() {
		level := slog.LevelInfo // one caller is cut to its share
		if scope == Everyone {
			level = slog.LevelWarn
		}
		w.logger.Log(context.Background(), level, "a limit is reached", "limit", limit, "scope", scope.String(),
			"environment", caller.Environment, "extension", caller.Extension, "channel", caller.Channel, "refused", refused)
	})
}

func (w *Watch) count(b Bound) (state *boundState, refused uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bounds[b] == nil && len(w.bounds) >= maxBounds {
		b.Extension = otherExtension
	}
	state = w.bounds[b]
	if state == nil {
		state = &boundState{seldom: rate.Sometimes{Interval: logEvery}}
		w.bounds[b] = state
	}
	state.refused++
	return state, state.refused
}
