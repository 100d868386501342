package limit

import (
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// A rate that many parties share, such as that of an extension by its channels, is given as
// follows. Of its burst A, T is taken, a party P has taken U(P), and N parties have taken
// something lately:
//
//   - While T is at most three quarters of A, a party takes what it wants: what others leave.
//   - Above that, only a party with U(P) below A/(N+1) takes something, so that all together leave
//     a share for the next one; below A where it is alone. Anonymous members of a party have to be
//     below a quarter of that, too.
//   - Parties that were favoured may take as much while T is below five quarters of A, others below
//     A, so that a favoured party finds its share even after another one alone has taken all of A.
//
// T and each U(P) fill up again with time, the latter at the rate of a share. So a party alone gets
// all of A in a period; of several that ask for as much as they can, each gets A/(N+1) in the long
// run at least; and all together never get more than A in the long run.
const (
	contendedShare = 3.0 / 4
	favouredShare  = 5.0 / 4
	anonymousShare = 1.0 / 4
)

const (
	// maxParties limits the parties of a rate that are known; the least recently used are
	// dropped first, and begin again with nothing taken.
	maxParties = 1 << 12
	// maxFavoured limits the parties that are known to be favoured, likewise.
	maxFavoured = 1 << 14
	// countEvery is the time for which the number of parties is not counted again.
	countEvery = time.Second
)

// partyTable holds what the parties of one rate have taken.
type partyTable struct {
	parties *simplelru.LRU[string, *partyUse]
	active  float64
	counted time.Time
}

type partyUse struct{ all, anonymous tokenBucket }

func (u *partyUse) fill(now time.Time, share Rate) {
	u.all.fill(now, share)
	u.anonymous.fill(now, share)
}

// shareOf returns the part of one of so many parties, beside which another one may come.
func (r Rate) shareOf(parties float64) Rate {
	if parties > 1 {
		parties++
	}
	return r.Part(parties)
}

func (t *partyTable) useOf(party string, now time.Time) *partyUse {
	use, ok := t.parties.Get(party)
	if !ok {
		use = &partyUse{tokenBucket{at: now}, tokenBucket{at: now}}
		t.parties.Add(party, use)
	}
	return use
}

// count returns the number of parties that have taken something lately, with party.
func (t *partyTable) count(party *partyUse, r Rate, now time.Time) float64 {
	if now.Sub(t.counted) >= countEvery {
		share, active := r.shareOf(max(t.active, 1)), 0.0
		for _, use := range t.parties.Values() {
			if use.fill(now, share); use.all.taken > 0 {
				active++
			}
		}
		t.active, t.counted = active, now
	}
	if party.all.taken == 0 {
		return t.active + 1
	}
	return max(t.active, 1)
}

// waitFor returns the time until a party may take something from its bucket, whose rate is r, 0
// if it may now, and whose bound it waits for: its own while there is something left.
func (l *Ledger) waitFor(c *Claim, bucket *tokenBucket, r Rate, now time.Time) (wait time.Duration, scope Scope) {
	amount := float64(r.Burst)
	if bucket.taken <= amount*contendedShare {
		return 0, c.Scope
	}
	table := l.tableOf(c)
	use := table.useOf(c.Party, now)
	own := r.shareOf(table.count(use, r, now))
	share := float64(own.Burst)
	use.fill(now, own)
	limit := amount
	if l.favoured.Contains(c.Holder + "\x00" + c.Party) {
		limit *= favouredShare
	}
	whole := bucket.until(limit-1, r)
	wait = use.all.until(share-1, own)
	if c.Anonymous {
		wait = max(wait, use.anonymous.until(max(share*anonymousShare, 1)-1, own))
	}
	if wait > whole {
		return wait, FairShare
	}
	return whole, c.Scope
}

func (l *Ledger) tableOf(c *Claim) *partyTable {
	name := bucketKey{c.Kind, c.Holder}
	t, ok := l.shared.Get(name)
	if !ok {
		t = &partyTable{parties: newLRU[string, *partyUse](maxParties)}
		l.shared.Add(name, t)
	}
	return t
}

// Favour has a party of a holder go before others where its rates are contended.
func (l *Ledger) Favour(holder, party string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.favoured.Add(holder+"\x00"+party, struct{}{})
}
