package limit_test

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/limit"
)

func alone() int { return 1 }

func claim(name string, perHour, amount int64) limit.Claim {
	return limit.Claim{Holder: name, Rate: limit.Per(perHour, time.Hour), Amount: amount}
}

func TestTake(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := limit.NewLedger(alone, nil)
	for i := range 10 {
		if err := l.Take(now, limit.Caller{}, claim("a", 10, 1)); err != nil {
			t.Fatalf("claim %d is refused", i)
		}
	}
	refusal, _ := errors.AsType[*limit.Refusal](l.Take(now, limit.Caller{}, claim("a", 10, 1)))
	if want := 6 * time.Minute; refusal == nil || refusal.Retry < want || refusal.Retry > want+2*time.Second {
		t.Fatalf("an eleventh claim: %+v, want a refusal for %v", refusal, want)
	}
	retry := refusal.Retry
	if err := l.Take(now, limit.Caller{}, claim("b", 10, 1)); err != nil {
		t.Error("another name is refused")
	}
	if err := l.Take(now.Add(retry), limit.Caller{}, claim("a", 10, 1)); err != nil {
		t.Error("refused after the time to retry")
	}
	if err := l.Take(now.Add(retry), limit.Caller{}, claim("a", 10, 1)); err == nil {
		t.Error("granted twice after the time to retry")
	}
	if err := l.Take(now.Add(retry), limit.Caller{}, claim("a", 0, 1)); err != nil {
		t.Error("the zero rate limits")
	}
	if err := l.Take(now.Add(retry), limit.Caller{}, claim("a", 12, 1)); err != nil {
		t.Error("a larger rate is not in force at once")
	}
}

// A refused claim takes nothing, from none of the buckets.
func TestTakeAllOrNone(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := limit.NewLedger(alone, nil)
	_ = l.Take(now, limit.Caller{}, claim("extension", 1, 1))
	for range 5 {
		if err := l.Take(now, limit.Caller{}, claim("identity", 3, 1), claim("extension", 1, 1)); err == nil {
			t.Fatal("granted from an empty bucket")
		}
	}
	for i := range 3 {
		if err := l.Take(now, limit.Caller{}, claim("identity", 3, 1)); err != nil {
			t.Errorf("a refused claim has taken %d", 3-i)
		}
	}
}

// A claim above the quota is granted from a bucket that is not empty, and paid for later.
func TestTakeMoreThanTheQuota(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := limit.NewLedger(alone, nil)
	if err := l.Take(now, limit.Caller{}, claim("a", 10, 30)); err != nil {
		t.Fatal("refused")
	}
	if err := l.Take(now.Add(2*time.Hour), limit.Caller{}, claim("a", 10, 1)); err == nil {
		t.Error("granted before the debt is paid")
	}
	if err := l.Take(now.Add(2*time.Hour+7*time.Minute), limit.Caller{}, claim("a", 10, 1)); err != nil {
		t.Error("refused after the debt is paid")
	}
}

// Whatever the interleaving and the number of processes, all together give the quota of a
// period, the first filling, and one claim more for each process.
func TestProcessesShareTheQuota(t *testing.T) {
	const perHour, largest = 1_000, 7
	for _, processes := range []int{1, 2, 3, 10} {
		ledgers := make([]*limit.Ledger, processes)
		for i := range ledgers {
			ledgers[i] = limit.NewLedger(func() int { return processes }, nil)
		}
		var given atomic.Int64
		var callers sync.WaitGroup
		began := time.Unix(1_000_000, 0)
		for caller := range 8 {
			callers.Go(func() {
				random := rand.New(rand.NewPCG(1, uint64(caller)))
				for i := range 3_000 {
					amount := 1 + random.Int64N(largest)
					now := began.Add(time.Duration(i) * time.Hour / 1_000) // 3 hours
					if err := ledgers[random.IntN(processes)].Take(now, limit.Caller{}, claim("a", perHour, amount)); err == nil {
						given.Add(amount)
					}
				}
			})
		}
		callers.Wait()
		if most := int64(4*perHour + processes*largest*8); given.Load() > most || given.Load() < 3*perHour*9/10 {
			t.Errorf("%d processes give %d in 3 hours, want from %d to %d", processes, given.Load(), 3*perHour*9/10, most)
		}
	}
}

func TestLedgerIsBounded(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := limit.NewLedger(alone, nil)
	_ = l.Take(now, limit.Caller{}, claim("first", 1, 1))
	for i := range 1 << 16 {
		_ = l.Take(now, limit.Caller{}, claim(strconv.Itoa(i), 1, 1))
	}
	if err := l.Take(now, limit.Caller{}, claim("first", 1, 1)); err != nil {
		t.Error("the oldest bucket is still there")
	}
}

// Callers without a credential, however many, push out no bucket of a quota.
func TestAddressesLeaveQuotas(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := limit.NewLedger(alone, nil)
	_ = l.Take(now, limit.Caller{}, claim("viewer", 1, 1))
	for i := range 1 << 16 {
		c := claim(strconv.Itoa(i), 1, 1)
		c.Kind = limit.Tokens
		_ = l.Take(now, limit.Caller{}, c)
	}
	if err := l.Take(now, limit.Caller{}, claim("viewer", 1, 1)); err == nil {
		t.Error("the viewer's bucket is gone")
	}
}

// Two rates have rules of their own: tokens of the sandbox are not given on credit, and what a
// process bounds for itself is not divided.
func TestRulesOfKinds(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := limit.NewLedger(func() int { return 10 }, nil)
	tokens := limit.Claim{Kind: limit.Tokens, Rate: limit.Rate{PerSecond: 10, Burst: 1_000}, Amount: 60}
	for i, want := range []bool{true, false} { // 100 are this process's
		if granted := l.Take(now, limit.Caller{}, tokens) == nil; granted != want {
			t.Errorf("60 tokens, time %d: %v, want %v", i, granted, want)
		}
	}
	if err := l.Take(now.Add(20*time.Second), limit.Caller{}, tokens); err != nil {
		t.Errorf("20 seconds later: %v", err)
	}
	tokens.Holder, tokens.Amount = "more than there can be", 500
	if err := l.Take(now, limit.Caller{}, tokens); err != nil {
		t.Errorf("500 of a full bucket of 100: %v", err)
	}
	topic := limit.Claim{Kind: limit.Topics, Rate: limit.Rate{PerSecond: 1, Burst: 20}, Amount: 1}
	for i := range 20 {
		if err := l.Take(now, limit.Caller{}, topic); err != nil {
			t.Fatalf("topic %d: %v", i, err)
		}
	}
	if err := l.Take(now, limit.Caller{}, topic); err == nil {
		t.Error("a topic more than the rate gives")
	}
}
