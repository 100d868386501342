package limit

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
)

func TestRefusals(t *testing.T) {
	p := NewPool[string]("bytes", 10, nil)
	a, b := p.Lease(Caller{}, Share[string]{"a", Identity, 6}), p.Lease(Caller{}, Share[string]{"all", Extension, 100}, Share[string]{"b", Viewers, 6})
	refusedFor := func(scope Scope) *Refusal { return &Refusal{Limit: "bytes", Scope: scope} }
	for _, step := range []struct {
		lease *Lease[string]
		n     int64
		want  *Refusal
	}{
		{a, 6, nil},
		{a, 1, refusedFor(Identity)},
		{b, 7, refusedFor(Viewers)},
		{b, 5, &Refusal{Limit: "bytes", Full: true}},
		{b, 4, nil},
	} {
		got, _ := errors.AsType[*Refusal](step.lease.Take(step.n))
		if !reflect.DeepEqual(got, step.want) {
			t.Errorf("taking %d: %v, want %v", step.n, got, step.want)
		}
	}
	if got, want := p.Stats(), (Stats{Used: 10, Limit: 10, Full: 1, OverShare: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	a.Give(5)
	a.Give(5) // more than it holds
	b.Release()
	b.Release()
	if got := p.Stats().Used; got != 0 || len(p.shares) != 0 {
		t.Errorf("%d are held in %v", got, p.shares)
	}
	var none *Lease[string]
	none.Release()
}

// Whatever the interleaving, the pool holds the sum of its leases, within every limit,
// and in the end nothing.
func TestReleasedEqualsTaken(t *testing.T) {
	const limit, share, workers, steps = 100, 40, 8, 5_000
	p := NewPool[int]("bytes", limit, nil)
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			var leases []*Lease[int]
			for range steps {
				switch random.IntN(4) {
				case 0:
					leases = append(leases, p.Lease(Caller{}, Share[int]{random.IntN(3), Identity, share}, Share[int]{9, Extension, limit}))
				case 1, 2:
					if len(leases) > 0 {
						_ = leases[random.IntN(len(leases))].Take(random.Int64N(20)) // a refusal is fine
					}
				case 3:
					if len(leases) > 0 {
						i := random.IntN(len(leases))
						leases[i].Give(random.Int64N(20))
						if random.IntN(3) == 0 {
							leases[i].Release()
						}
					}
				}
				checkPool(t, p, share)
			}
			for _, l := range leases {
				l.Release()
			}
		})
	}
	all.Wait()
	if got := p.Stats(); got.Used != 0 || len(p.shares) != 0 || got.Full+got.OverShare == 0 {
		t.Errorf("in the end %+v, shares %v", got, p.shares)
	}
}

func checkPool(t *testing.T, p *Pool[int], share int64) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := int64(0)
	for holder, n := range p.shares {
		if holder != 9 {
			sum += n
		}
		if n <= 0 || holder != 9 && n > share {
			t.Errorf("holder %d has %d", holder, n)
		}
	}
	if sum != p.used || p.shares[9] != p.used || p.used < 0 || p.used > p.limit {
		t.Errorf("the pool holds %d of %d, its holders %d and %d", p.used, p.limit, sum, p.shares[9])
	}
}
