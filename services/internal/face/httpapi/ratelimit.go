package httpapi

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// limitedCallers is the number of token buckets that a process keeps; the least
// recently used are dropped first.
const limitedCallers = 1 << 16

// rateLimiters holds the token buckets of callers whose extension declares rates.
type rateLimiters struct {
	processes func() int

	mu      sync.Mutex
	buckets *lru.Cache[tokenBucket, *rate.Limiter]
}

// tokenBucket names a token bucket: that of an identity, or of its whole extension
// when identity is empty. Without an extension, it is that of a client address or of all
// clients. A changed rate begins with a full bucket.
type tokenBucket struct {
	extension, identity string
	rate                tenant.Rate
}

func newLimiters(processes func() int) *rateLimiters {
	buckets, err := lru.New[tokenBucket, *rate.Limiter](limitedCallers)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return &rateLimiters{processes: processes, buckets: buckets}
}

// admitCaller takes a token for the caller, or refuses with fault.RateLimited.
func (l *rateLimiters) admitCaller(c *Caller) error {
	limits := c.Limits()
	if limits.IdentityRate.Limited() && !l.bucketOf(c, c.quotaHolder, limits.IdentityRate).Allow() ||
		limits.ExtensionRate.Limited() && !l.bucketOf(c, "", limits.ExtensionRate).Allow() {
		return fault.New(fault.RateLimited, "Too many requests; nothing was stored")
	}
	return nil
}

// admitMessage takes a token from the bucket of the message's audience, whose rate
// is the extension's rate of messages times factor.
func (l *rateLimiters) admitMessage(c *Caller, shared string, factor int) error {
	limit := c.Limits().MessageRate
	limit.PerSecond, limit.Burst = limit.PerSecond*float64(factor), limit.Burst*factor
	if limit.Limited() && !l.bucketOf(c, "message\x00"+shared, limit).Allow() {
		return fault.New(fault.RateLimited, "Too many requests; nothing was stored")
	}
	return nil
}

func (l *rateLimiters) bucketOf(c *Caller, identity string, limit tenant.Rate) *rate.Limiter {
	return l.bucketNamed(tokenBucket{c.Extension.ClientID, identity, limit})
}

func (l *rateLimiters) bucketNamed(name tokenBucket) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter, ok := l.buckets.Get(name)
	if !ok {
		limiter = rate.NewLimiter(rate.Limit(name.rate.PerSecond), name.rate.Burst)
		l.buckets.Add(name, limiter)
	}
	// The rate holds for all processes together: each gives its share.
	processes := max(1, l.processes())
	if share := rate.Limit(name.rate.PerSecond / float64(processes)); limiter.Limit() != share {
		limiter.SetLimit(share)
		limiter.SetBurst(max(1, name.rate.Burst/processes))
	}
	return limiter
}
