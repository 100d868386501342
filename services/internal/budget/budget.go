// Package budget bounds what requests make the process hold at one time: bytes of
// bodies, connections, subscribers. A pool has a limit in all, and each request
// claims shares of it under its own names, such as those of its viewer and its
// extension, so that one of them cannot use up the pool.
//
// The package may not import anything of the project. It never waits: whatever does
// not fit is refused.
package budget

import (
	"errors"
	"sync"
)

// Pool is a quantity with a limit on the part that is held at one time. K names the
// holders of shares.
type Pool[K comparable] struct {
	limit int64

	mu     sync.Mutex
	used   int64
	shares map[K]int64 // none is 0
	// Refusals, by what was used up.
	full, overShare uint64
}

// Claim limits the share of one holder in a pool.
type Claim[K comparable] struct {
	Holder K
	Limit  int64
}

// ErrFull is the refusal of a pool that is used up.
var ErrFull = errors.New("budget: used up")

// ShareError is the refusal of a claim that is used up.
type ShareError struct {
	// Index is the position of the claim among those of the lease, from 0.
	Index int
}

func (e *ShareError) Error() string { return "budget: the holder's share is used up" }

// NewPool returns a pool. Nothing of it is held yet.
func NewPool[K comparable](limit int64) *Pool[K] {
	return &Pool[K]{limit: limit, shares: map[K]int64{}}
}

// Limit returns the most that is held at one time.
func (p *Pool[K]) Limit() int64 { return p.limit }

// Lease returns a lease that holds nothing yet.
func (p *Pool[K]) Lease(claims ...Claim[K]) *Lease[K] { return &Lease[K]{pool: p, claims: claims} }

// Lease is the part of a pool that one request holds, under all of its claims.
type Lease[K comparable] struct {
	pool   *Pool[K]
	claims []Claim[K]
	held   int64
}

// Take adds n to what the lease holds. Otherwise it changes nothing and returns a
// [*ShareError] for the first claim that is used up, or ErrFull.
func (l *Lease[K]) Take(n int64) error {
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, c := range l.claims {
		if p.shares[c.Holder]+n > c.Limit {
			p.overShare++
			return &ShareError{i}
		}
	}
	if p.used+n > p.limit {
		p.full++
		return ErrFull
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
	for _, c := range l.claims {
		if share := l.pool.shares[c.Holder] + n; share > 0 {
			l.pool.shares[c.Holder] = share
		} else {
			delete(l.pool.shares, c.Holder)
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
