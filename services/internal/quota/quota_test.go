package quota_test

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/quota"
)

func alone() int { return 1 }

func claim(name string, perHour, amount int64) quota.Claim {
	return quota.Claim{Holder: name, Quota: quota.Quota{Amount: perHour, Period: time.Hour}, Amount: amount}
}

func TestTake(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := quota.NewLedger(alone)
	for i := range 10 {
		if _, ok := l.Take(now, claim("a", 10, 1)); !ok {
			t.Fatalf("claim %d is refused", i)
		}
	}
	retry, ok := l.Take(now, claim("a", 10, 1))
	if want := 6 * time.Minute; ok || retry < want || retry > want+2*time.Second {
		t.Errorf("retry is %v, want %v; granted %v", retry, want, ok)
	}
	if _, ok := l.Take(now, claim("b", 10, 1)); !ok {
		t.Error("another name is refused")
	}
	if _, ok := l.Take(now.Add(retry), claim("a", 10, 1)); !ok {
		t.Error("refused after the time to retry")
	}
	if _, ok := l.Take(now.Add(retry), claim("a", 10, 1)); ok {
		t.Error("granted twice after the time to retry")
	}
	if _, ok := l.Take(now.Add(retry), claim("a", 0, 1)); !ok {
		t.Error("the zero quota limits")
	}
	if _, ok := l.Take(now.Add(retry), claim("a", 12, 1)); !ok {
		t.Error("a larger quota is not in force at once")
	}
}

// A refused claim takes nothing, from none of the buckets.
func TestTakeAllOrNone(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := quota.NewLedger(alone)
	l.Take(now, claim("extension", 1, 1))
	for range 5 {
		if _, ok := l.Take(now, claim("identity", 3, 1), claim("extension", 1, 1)); ok {
			t.Fatal("granted from an empty bucket")
		}
	}
	for i := range 3 {
		if _, ok := l.Take(now, claim("identity", 3, 1)); !ok {
			t.Errorf("a refused claim has taken %d", 3-i)
		}
	}
}

// A claim above the quota is granted from a bucket that is not empty, and paid for later.
func TestTakeMoreThanTheQuota(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := quota.NewLedger(alone)
	if _, ok := l.Take(now, claim("a", 10, 30)); !ok {
		t.Fatal("refused")
	}
	if _, ok := l.Take(now.Add(2*time.Hour), claim("a", 10, 1)); ok {
		t.Error("granted before the debt is paid")
	}
	if _, ok := l.Take(now.Add(2*time.Hour+7*time.Minute), claim("a", 10, 1)); !ok {
		t.Error("refused after the debt is paid")
	}
}

// Whatever the interleaving and the number of processes, all together give the quota of a
// period, the first filling, and one claim more for each process.
func TestProcessesShareTheQuota(t *testing.T) {
	const perHour, largest = 1_000, 7
	for _, processes := range []int{1, 2, 3, 10} {
		ledgers := make([]*quota.Ledger, processes)
		for i := range ledgers {
			ledgers[i] = quota.NewLedger(func() int { return processes })
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
					if _, ok := ledgers[random.IntN(processes)].Take(now, claim("a", perHour, amount)); ok {
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
	l := quota.NewLedger(alone)
	l.Take(now, claim("first", 1, 1))
	for i := range 1 << 16 {
		l.Take(now, claim(strconv.Itoa(i), 1, 1))
	}
	if _, ok := l.Take(now, claim("first", 1, 1)); !ok {
		t.Error("the oldest bucket is still there")
	}
}
