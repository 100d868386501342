// Package quota counts what callers bring into being against what they may: a token
// bucket for each holder and kind, which begins full and fills evenly.
//
// The package has no clock of its own and may not import anything of the project.
package quota

import (
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Quota is an amount in a period. The zero Quota does not limit. Its bucket holds the
// amount of one period, so that a period may see twice the amount, and the long run
// never more than the amount.
type Quota struct {
	Amount int64
	Period time.Duration
}

// Limited reports whether the quota limits anything.
func (q Quota) Limited() bool { return q.Amount > 0 }

// dividedBy returns the share of one of several processes.
func (q Quota) dividedBy(processes int) Quota {
	q.Amount = max(1, q.Amount/int64(max(1, processes)))
	return q
}

// ResourceKind names the things that a quota counts.
type ResourceKind int

// The kinds.
const (
	Streams ResourceKind = iota
	Bytes
	Whispers
	Documents
	Datastream
)

// Kinds returns the names of all kinds, in their order.
func Kinds() []string {
	return []string{Streams: "streams", Bytes: "bytes", Whispers: "whispers", Documents: "documents", Datastream: "datastream"}
}

// Claim is an amount that a holder, such as an identity, takes from its quota of a kind.
type Claim struct {
	Kind   ResourceKind
	Holder string
	Quota  Quota
	Amount int64
	// Party is the one of several that share the quota, such as a channel; empty: they do not.
	Party string
	// Anonymous reports that the party's anonymous members take it.
	Anonymous bool
}

// maxBuckets limits the buckets that are kept; the least recently used are dropped
// first, and begin full again.
const maxBuckets = 1 << 16

// maxTables limits the quotas whose parties are kept, likewise.
const maxTables = 1 << 10

// Ledger holds the buckets of one process. Each of several processes that share a
// backend gives its share of a quota: the amount divided by the number of live
// processes. So all together never give more than the quota, and a caller that
// reaches only some of them gets as much less.
type Ledger struct {
	processes func() int

	mu       sync.Mutex
	buckets  *simplelru.LRU[bucketKey, *tokenBucket]
	tables   *simplelru.LRU[bucketKey, *partyTable] // of the quotas that parties share
	favoured *simplelru.LRU[string, struct{}]       // parties, by holder and name
	// Refusals by kind, and those of parties above their share.
	refusals, shareRefusals []uint64
}

// bucketKey is the quota of a holder.
type bucketKey struct {
	kind   ResourceKind
	holder string
}

// NewLedger returns a ledger of a process that is one of so many, itself included.
func NewLedger(processes func() int) *Ledger {
	buckets, err := simplelru.NewLRU[bucketKey, *tokenBucket](maxBuckets, nil)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	tables, err := simplelru.NewLRU[bucketKey, *partyTable](maxTables, nil)
	if err != nil {
		panic(err) // likewise
	}
	return &Ledger{
		processes: processes, buckets: buckets, tables: tables, favoured: newLRU[struct{}](maxFavoured),
		refusals: make([]uint64, len(Kinds())), shareRefusals: make([]uint64, len(Kinds())),
	}
}

// Take takes all claims or none. A claim is granted while its bucket is not empty, whatever
// its amount: the bucket goes into debt, so that a large claim succeeds in the end
// and the long run stays within the quota. Where one cannot be granted, Take returns the time
// until it can.
func (l *Ledger) Take(now time.Time, claims ...Claim) (retry time.Duration, ok bool) {
	processes := l.processes()
	var room [4]*tokenBucket // for the claims of most requests, without an allocation
	buckets := room[:0]
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range claims {
		var bucket *tokenBucket // nil without a limit
		if c.Quota.Limited() {
			bucket = l.bucketOf(c)
			share := c.Quota.dividedBy(processes)
			bucket.fill(now, share)
			wait := l.waitOf(c, bucket, share, now)
			if wait > 0 {
				l.refusals[c.Kind]++
			}
			retry = max(retry, wait)
		}
		buckets = append(buckets, bucket)
	}
	if retry > 0 {
		return retry, false
	}
	for i, bucket := range buckets {
		if bucket != nil {
			l.grant(claims[i], bucket, processes, now)
		}
	}
	return 0, true
}

// waitOf returns the time until a claim can be granted, 0 if it can now.
func (l *Ledger) waitOf(c Claim, bucket *tokenBucket, q Quota, now time.Time) time.Duration {
	if c.Party != "" {
		return l.waitFor(c, bucket, q, now)
	}
	return bucket.until(float64(q.Amount)-1, q)
}

// grant takes the amount of a claim.
func (l *Ledger) grant(c Claim, bucket *tokenBucket, processes int, now time.Time) {
	amount := float64(c.Amount)
	bucket.taken += amount
	if c.Party == "" {
		return
	}
	table := l.tableOf(c)
	use := table.useOf(c.Party, now)
	q := c.Quota.dividedBy(processes)
	use.fill(now, q.shareOf(table.count(use, q, now)))
	if use.all.taken == 0 {
		table.active++
	}
	use.all.taken += amount
	if c.Anonymous {
		use.anonymous.taken += amount
	}
}

// ShareRefusals returns how often a party that was above its share of a quota of each kind was
// refused.
func (l *Ledger) ShareRefusals() []uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.shareRefusals)
}

// Refusals returns how often a quota of each kind was used up.
func (l *Ledger) Refusals() []uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.refusals)
}

func (l *Ledger) bucketOf(c Claim) *tokenBucket {
	name := bucketKey{c.Kind, c.Holder}
	b, ok := l.buckets.Get(name)
	if !ok {
		b = new(tokenBucket)
		l.buckets.Add(name, b)
	}
	return b
}

// tokenBucket holds what was taken and is not filled up again. It keeps the taken amount, not
// what is left, so that a quota may change at any time.
type tokenBucket struct {
	taken float64
	at    time.Time // of taken
}

// fill fills the bucket up to now.
func (b *tokenBucket) fill(now time.Time, q Quota) {
	if since := now.Sub(b.at); since > 0 {
		b.taken, b.at = max(0, b.taken-q.perSecond()*since.Seconds()), now
	}
}

// until returns the time until at most a limit is taken from the bucket, 0 where that is so.
func (b *tokenBucket) until(limit float64, q Quota) time.Duration {
	if b.taken <= limit {
		return 0
	}
	return time.Duration((b.taken-limit)/q.perSecond()*float64(time.Second)).Round(time.Second) + time.Second
}

func (q Quota) perSecond() float64 { return float64(q.Amount) / q.Period.Seconds() }
