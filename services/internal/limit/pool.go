package limit

import "sync"

// Pool is a quantity with a limit on the part that is held at one time. K names the
// holders of shares.
type Pool[K comparable] struct {
	name  string
	limit int64
	watch *Watch

	mu     sync.Mutex
	used   int64
	shares map[K]int64 // none is 0
	// Refusals, by what was used up.
	full, overShare uint64
}

// Share limits the part of one holder in a pool.
type Share[K comparable] struct {
	Holder K
	Scope  Scope
	Limit  int64
}

// NewPool returns a pool that its watch knows by its name. Nothing of it is held yet.
func NewPool[K comparable](name string, limit int64, watch *Watch) *Pool[K] {
	p := &Pool[K]{name: name, limit: limit, watch: watch, shares: map[K]int64{}}
	watch.addPool(name, p.Stats)
	return p
}

// Limit returns the most that is held at one time.
func (p *Pool[K]) Limit() int64 { return p.limit }

// Lease returns a lease that holds nothing yet.
func (p *Pool[K]) Lease(caller Caller, shares ...Share[K]) *Lease[K] {
	return &Lease[K]{pool: p, caller: caller, shares: shares}
}

// Lease is the part of a pool that one request holds, under all of its shares.
type Lease[K comparable] struct {
	pool   *Pool[K]
	caller Caller
	shares []Share[K]
	held   int64
}

// Take adds n to what the lease holds. Otherwise it changes nothing and returns a
// [*Refusal] for the first share that is used up, or for everyone.
func (l *Lease[K]) Take(n int64) error {
	refusal := l.tryTake(n)
	if refusal == nil {
		return nil
	}
	l.pool.watch.Note(refusal.Limit, refusal.Scope, l.caller)
	return refusal
}

func (l *Lease[K]) tryTake(n int64) *Refusal {
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range l.shares {
		if p.shares[s.Holder]+n > s.Limit {
			p.overShare++
			return &Refusal{Limit: p.name, Scope: s.Scope}
		}
	}
	if p.used+n > p.limit {
		p.full++
		return &Refusal{Limit: p.name, Scope: Everyone, Full: true}
	}
	l.add(n)
	return nil
}

// Give returns n of what the lease holds.
func (l *Lease[K]) Give(n int64) {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.add(-min(n, l.held))
}

// Release returns all that the lease holds. It may be called again, and for nil.
func (l *Lease[K]) Release() {
	if l == nil {
		return
	}
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.add(-l.held)
}

// add changes what is held. pool.mu is held.
func (l *Lease[K]) add(n int64) {
	if n == 0 {
		return
	}
	l.held += n
	l.pool.used += n
	for _, s := range l.shares {
		if part := l.pool.shares[s.Holder] + n; part > 0 {
			l.pool.shares[s.Holder] = part
		} else {
			delete(l.pool.shares, s.Holder)
		}
	}
}

// Stats are the figures of a pool.
type Stats struct {
	Used, Limit int64
	// Full counts what was refused because the pool was used up, OverShare what was
	// refused because of one holder's share.
	Full, OverShare uint64
}

// Stats returns the figures of this moment.
func (p *Pool[K]) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{Used: p.used, Limit: p.limit, Full: p.full, OverShare: p.overShare}
}

// Holder is an identity of an extension, what the games of one of its channels are together, a
// whole extension or, where names are empty, something wider.
type Holder struct{ Environment, Extension, Channel, Identity string }
