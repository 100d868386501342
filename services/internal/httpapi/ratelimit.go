package httpapi

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// limitedCallers is how many rate-limited identities a process keeps apart.
// Those that asked least recently are forgotten first.
const limitedCallers = 1 << 16

// limiters holds the token buckets of callers whose extension declares rates.
type limiters struct {
	mu      sync.Mutex
	buckets *lru.Cache[bucket, *rate.Limiter]
}

// bucket names a token bucket: that of an identity, or of its whole extension
// when identity is empty. A changed rate begins with a full bucket.
type bucket struct {
	extension, identity string
	rate                tenant.Rate
}

func newLimiters() *limiters {
	buckets, err := lru.New[bucket, *rate.Limiter](limitedCallers)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return &limiters{buckets: buckets}
}

// admit takes a token for the caller, or refuses with fault.RateLimited.
func (l *limiters) admit(c *Caller) error {
	limits := c.Limits()
	if limits.IdentityRate.Limited() && !l.get(c, c.identity()+"\x00"+c.ChannelID, limits.IdentityRate).Allow() ||
		limits.ExtensionRate.Limited() && !l.get(c, "", limits.ExtensionRate).Allow() {
		return fault.New(fault.RateLimited, "Too many requests; nothing was stored")
	}
	return nil
}

// admitMessage takes a token from the bucket of those that share what a message
// is said to, each of which has the rate of messages times the given factor.
func (l *limiters) admitMessage(c *Caller, shared string, factor int) error {
	limit := c.Limits().MessageRate
	limit.PerSecond, limit.Burst = limit.PerSecond*float64(factor), limit.Burst*factor
	if limit.Limited() && !l.get(c, "message\x00"+shared, limit).Allow() {
		return fault.New(fault.RateLimited, "Too many requests; nothing was stored")
	}
	return nil
}

func (l *limiters) get(c *Caller, identity string, limit tenant.Rate) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := bucket{c.Extension.ClientID, identity, limit}
	limiter, ok := l.buckets.Get(name)
	if !ok {
		limiter = rate.NewLimiter(rate.Limit(limit.PerSecond), limit.Burst)
		l.buckets.Add(name, limiter)
	}
	return limiter
}
