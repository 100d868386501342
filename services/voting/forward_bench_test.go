package voting_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/cputime"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// recordingOwner owns every stream, and keeps the requests that it gets.
type recordingOwner struct {
	*owner
	requests [][]byte
}

func (o *recordingOwner) Owner(string) stream.Peer { return o }

func (o *recordingOwner) Send(ctx context.Context, request []byte, receive func(part []byte)) error {
	o.mu.Lock()
	o.requests = append(o.requests, request)
	o.mu.Unlock()
	return o.service.Serve(ctx, request, receive)
}

// BenchmarkOwner measures what the owner of a hot poll spends on a vote that another process forwards:
// on all of it but for the network. The requests are those of a process with so many viewers at
// once, who all vote for the first time, and are run again by an owner that has not seen
// them. It reports the processor time of this process, which does nothing else, and the votes of
// a request.
func BenchmarkOwner(b *testing.B) {
	for _, viewers := range []int{64, 1024} {
		b.Run(fmt.Sprint(viewers), func(b *testing.B) {
			b.ReportAllocs()
			b.StopTimer()
			recorder := &recordingOwner{owner: &owner{service: voting.NewService(storetest.NewMemory(), stream.SystemClock(), stream.Options{Exclusive: true})}}
			front := voting.NewService(storetest.NewMemory(), stream.SystemClock(), stream.Options{Peers: recorder})
			var callers sync.WaitGroup
			for viewer := range viewers {
				callers.Go(func() {
					for n := viewer; n < b.N; n += viewers {
						voter := voting.Voter{OpaqueID: fmt.Sprint("U", 10_000_000+n*791)}
						if _, err := front.Vote(b.Context(), forwardedPoll, voter, int64(n%4), 1); err != nil {
							b.Error(err)
						}
					}
				})
			}
			callers.Wait()

			fresh := voting.NewService(storetest.NewMemory(), stream.SystemClock(), stream.Options{Exclusive: true})
			b.StartTimer()
			report := cputime.Measure(b)
			for _, request := range recorder.requests {
				if err := fresh.Serve(b.Context(), request, func([]byte) {}); err != nil {
					b.Fatal(err)
				}
			}
			report()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/float64(len(recorder.requests)), "votes/request")
			tally, err := fresh.Tally(b.Context(), forwardedPoll, voting.Voter{})
			if err != nil {
				b.Fatal(err)
			}
			if got := string(tally.Statistics.AppendJSON(nil, nil)); !strings.Contains(got, fmt.Sprintf(`"count":%d,`, b.N)) {
				b.Errorf("after %d votes: %s", b.N, got)
			}
			for _, s := range []*voting.Service{front, recorder.service, fresh} {
				if err := s.Close(context.WithoutCancel(b.Context())); err != nil {
					b.Error(err)
				}
			}
		})
	}
}
