package limit

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Rate is a token bucket: it begins full with Burst, and fills evenly by PerSecond. So a
// period may see the burst beside what the rate gives, and the long run never more than the
// rate. The zero Rate does not limit.
type Rate struct {
	PerSecond float64
	Burst     int64 // 1 at least
}

// Per returns the rate that gives an amount in each period, and as much at once. An amount
// of 0 does not limit.
func Per(amount int64, period time.Duration) Rate {
	return Rate{float64(amount) / period.Seconds(), amount}
}

// Limited reports whether the rate limits anything.
func (r Rate) Limited() bool { return r.PerSecond > 0 }

// Times returns so many times the rate.
func (r Rate) Times(factor int64) Rate { return Rate{r.PerSecond * float64(factor), r.Burst * factor} }

// Part returns one of so many equal parts of the rate.
func (r Rate) Part(parts float64) Rate {
	return Rate{r.PerSecond / parts, max(int64(float64(r.Burst)/parts), 1)}
}

// Kind names what a ledger counts.
type Kind int

// The kinds. Those before Datastream are quotas of what is stored.
const (
	Streams Kind = iota
	Bytes
	Whispers
	Documents
	Datastream
	Requests
	Messages
	Pictures      // that staff uploads
	Topics        // that subscribers follow in this process
	Tokens        // of the sandbox
	PINs          // that games show, and that staff tries
	PublicNames   // that are not known to be of public results
	Devices       // that get a credential to vote
	Guesses       // of credentials, of a connection to this process
	Displacements // of games that have not authenticated, by an address, in this process
	SignIns       // of staff, that browsers and terminals begin
	StaffReturns  // from the issuer, of browsers, and of terminals that ask for their session
	ViewerSignIns
	ViewerReturns // of viewers from the issuer
)

// Kinds returns the names of all kinds, in their order.
func Kinds() []string {
	return []string{
		"streams", "bytes", "whispers", "documents", "datastream",
		"request_rate", "message_rate", "picture_rate", "topic_rate", "token_rate", "pin_rate", "public_name_rate", "device_rate", "guess_rate", "displacement_rate", "sign_in_rate",
		"staff_return_rate", "viewer_sign_in_rate", "viewer_return_rate",
	}
}

// isLocal reports that each process gives all of a rate: what it bounds is in the process.
func (k Kind) isLocal() bool { return k == Topics || k == Guesses || k == Displacements }

// IsSharedByAddresses reports that clients share a rate of all as parties do, so that many addresses
// leave a share for one that takes little. People return from the issuer by a rate of their own: in a crowd, who
// has begun a sign-in would otherwise have had the share.
func (k Kind) IsSharedByAddresses() bool {
	return k == PINs || k == Devices || k == SignIns || k == StaffReturns || k == ViewerSignIns || k == ViewerReturns
}

// OfAddress returns the kind of an address's own rate: an address begins and ends sign-ins by the same.
func (k Kind) OfAddress() Kind {
	switch k {
	case StaffReturns:
		return SignIns
	case ViewerReturns:
		return ViewerSignIns
	}
	return k
}

// needsWhole reports that a claim is granted only where all of its amount is there.
func (k Kind) needsWhole() bool { return k == Tokens }

// The buckets of quotas, of rates, and of addresses without a credential are kept apart, so
// that none of them pushes out others.
func (k Kind) table() int {
	switch {
	case k <= Datastream:
		return 0
	case k <= Topics:
		return 1
	}
	return 2
}

const tables = 3

// Claim is an amount that a holder, such as an identity, takes from its rate of a kind.
type Claim struct {
	Kind   Kind
	Holder string
	Scope  Scope
	Rate   Rate
	Amount int64
	// Party is the one of several that share the rate, such as a channel; empty: they do not.
	Party string
	// Anonymous reports that the party's anonymous members take it.
	Anonymous bool
}

const (
	// maxBuckets limits the buckets of a table; the least recently used are dropped first,
	// and begin full again.
	maxBuckets = 1 << 16
	// maxShared limits the rates whose parties are kept, likewise.
	maxShared = 1 << 10
)

// Ledger holds the buckets of one process. Each of several processes that share a
// backend gives its share of a rate: divided by the number of live processes. So all
// together never give more than the rate, and a caller that reaches only some of them gets
// as much less.
type Ledger struct {
	processes func() int
	watch     *Watch

	mu       sync.Mutex
	buckets  [tables]*simplelru.LRU[bucketKey, *tokenBucket]
	shared   *simplelru.LRU[bucketKey, *partyTable] // of the rates that parties share
	favoured *simplelru.LRU[string, struct{}]       // parties, by holder and name
}

// bucketKey is the rate of a holder.
type bucketKey struct {
	kind   Kind
	holder string
}

func newLRU[K comparable, V any](size int) *simplelru.LRU[K, V] {
	table, err := simplelru.NewLRU[K, V](size, nil)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return table
}

// NewLedger returns a ledger of a process that is one of so many, itself included.
func NewLedger(processes func() int, watch *Watch) *Ledger {
	l := &Ledger{
		processes: processes, watch: watch,
		shared: newLRU[bucketKey, *partyTable](maxShared), favoured: newLRU[string, struct{}](maxFavoured),
	}
	for i := range l.buckets {
		l.buckets[i] = newLRU[bucketKey, *tokenBucket](maxBuckets)
	}
	return l
}

// Take takes all claims or none. A claim is granted while its bucket is not empty, whatever
// its amount: the bucket goes into debt, so that a large claim succeeds in the end
// and the long run stays within the rate. Where one cannot be granted, Take returns a
// [*Refusal] of the first such claim, with the time until all can be.
func (l *Ledger) Take(now time.Time, caller Caller, claims ...Claim) error {
	refusal := l.tryTake(now, claims)
	if refusal == nil {
		return nil
	}
	l.watch.Note(refusal.Limit, refusal.Scope, caller)
	return refusal
}

func (l *Ledger) tryTake(now time.Time, claims []Claim) (refusal *Refusal) {
	processes := float64(max(1, l.processes()))
	var room [4]*tokenBucket // for the claims of most requests, without an allocation
	buckets := room[:0]
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range claims {
		c := &claims[i]
		var bucket *tokenBucket // nil without a limit
		if c.Rate.Limited() {
			bucket = l.bucketOf(c)
			rate := c.rateOf(processes)
			bucket.fill(now, rate)
			wait, scope := l.waitOf(c, bucket, rate, now)
			if wait > 0 && refusal == nil {
				refusal = &Refusal{Limit: Kinds()[c.Kind], Scope: scope}
			}
			if wait > 0 {
				refusal.Retry = max(refusal.Retry, wait)
			}
		}
		buckets = append(buckets, bucket)
	}
	if refusal != nil {
		return refusal
	}
	for i, bucket := range buckets {
		if bucket != nil {
			l.grant(&claims[i], bucket, processes, now)
		}
	}
	return nil
}

// rateOf returns the part of one of so many processes.
func (c *Claim) rateOf(processes float64) Rate {
	if c.Kind.isLocal() {
		return c.Rate
	}
	return c.Rate.Part(processes)
}

// waitOf returns the time until a claim can be granted, 0 if it can now, and whose bound it
// waits for.
func (l *Ledger) waitOf(c *Claim, bucket *tokenBucket, r Rate, now time.Time) (time.Duration, Scope) {
	if c.Party != "" {
		return l.waitFor(c, bucket, r, now)
	}
	least := int64(1)
	if c.Kind.needsWhole() {
		least = min(c.Amount, r.Burst)
	}
	return bucket.until(float64(r.Burst-least), r), c.Scope
}

// grant takes the amount of a claim.
func (l *Ledger) grant(c *Claim, bucket *tokenBucket, processes float64, now time.Time) {
	amount := float64(c.Amount)
	bucket.taken += amount
	if c.Party == "" {
		return
	}
	table := l.tableOf(c)
	use := table.useOf(c.Party, now)
	r := c.rateOf(processes)
	use.fill(now, r.shareOf(table.count(use, r, now)))
	if use.all.taken == 0 {
		table.active++
	}
	use.all.taken += amount
	if c.Anonymous {
		use.anonymous.taken += amount
	}
}

func (l *Ledger) bucketOf(c *Claim) *tokenBucket {
	name, buckets := bucketKey{c.Kind, c.Holder}, l.buckets[c.Kind.table()]
	b, ok := buckets.Get(name)
	if !ok {
		b = new(tokenBucket)
		buckets.Add(name, b)
	}
	return b
}

// tokenBucket holds what was taken and is not filled up again. It keeps the taken amount, not
// what is left, so that a rate may change at any time.
type tokenBucket struct {
	taken float64
	at    time.Time // of taken
}

// fill fills the bucket up to now.
func (b *tokenBucket) fill(now time.Time, r Rate) {
	if since := now.Sub(b.at); since > 0 {
		b.taken, b.at = max(0, b.taken-r.PerSecond*since.Seconds()), now
	}
}

// longestWait is the longest time that a refusal names.
const longestWait = 365 * 24 * time.Hour

// until returns the time until at most a limit is taken from the bucket, 0 where that is so.
func (b *tokenBucket) until(limit float64, r Rate) time.Duration {
	if b.taken <= limit {
		return 0
	}
	seconds := min((b.taken-limit)/r.PerSecond, longestWait.Seconds())
	return time.Duration(seconds*float64(time.Second)).Round(time.Second) + time.Second
}
