package stream_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/cputime"
	"github.com/acclaim-dev/acclaim/services/internal/testing/ledger"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// nearOwner is an owner without a network.
type nearOwner struct {
	owner    *ledger.Engine
	requests atomic.Int64
}

func (o *nearOwner) Owner(string) stream.Peer { return o }
func (*nearOwner) Contenders(string) int      { return 0 }
func (*nearOwner) ID() string                 { return "owner" }

func (o *nearOwner) Send(ctx context.Context, request []byte, receive func(part []byte)) error {
	o.requests.Add(1)
	return o.owner.Serve(ctx, request, receive)
}

// BenchmarkForward asks streams at their owner: an operation is one query of each of some
// streams at a time. The processor time beyond that of asking the owner itself goes
// to requests and to the calls in them, at both ends and without the network.
func BenchmarkForward(b *testing.B) {
	for _, calls := range []int{1, 20} {
		for _, forwards := range []bool{false, true} {
			b.Run(fmt.Sprintf("calls=%d/forwarded=%t", calls, forwards), func(b *testing.B) {
				owner := newEngine(storetest.NewMemory(), stream.Options{Exclusive: true})
				link := &nearOwner{owner: owner}
				asked := owner
				if forwards {
					asked = newEngine(storetest.NewMemory(), stream.Options{Peers: link})
				}
				report := cputime.Measure(b)
				for b.Loop() {
					var callers sync.WaitGroup
					for i := range calls {
						callers.Go(func() {
							if _, err := asked.View(b.Context(), fmt.Sprint(testStream, i), ledger.SumQuery); err != nil {
								b.Error(err)
							}
						})
					}
					callers.Wait()
				}
				report()
				b.ReportMetric(float64(link.requests.Load())/float64(b.N), "requests/op")
			})
		}
	}
}
