package voting

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/cputime"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// BenchmarkVote is decide and apply of one vote: by new voters up to a million,
// and by voters who have voted in a poll of a million.
func BenchmarkVote(b *testing.B) {
	for name, voters := range map[string]int{"new": 0, "again": million} {
		b.Run(name, func(b *testing.B) {
			p := crowd(voters)
			p.at += million
			ids := make([]string, million)
			for i := range ids {
				ids[i] = identity(i * 7919 % million)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%million == 0 && voters == 0 {
					p.state = p.New()
				}
				d, err := p.Decide(p.state, p.at+int64(i/100), cast(Voter{OpaqueID: ids[i%million]}, int64(i%32)))
				if err != nil {
					b.Fatal(err)
				}
				p.Apply(p.state, p.at+int64(i/100), d.Entry)
			}
		})
	}
}

// BenchmarkBatch is a batch of votes in a poll of a million voters: forked,
// decided and applied.
func BenchmarkBatch(b *testing.B) {
	p := crowd(million)
	p.at += million
	for _, size := range []int{64, 1024} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				p.at++
				batch(b, p, n*size, size)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/vote")
		})
	}
}

func batch(b *testing.B, p *poll, from, size int) {
	fork := p.Fork(p.state)
	entries := make([]Entry, 0, size)
	for i := range size {
		d, err := p.Decide(fork, p.at, cast(Voter{OpaqueID: identity((from + i) * 7919 % million)}, int64(i%32)))
		if err != nil {
			b.Fatal(err)
		}
		p.Apply(fork, p.at, d.Entry)
		entries = append(entries, d.Entry)
	}
	for _, e := range entries {
		p.Apply(p.state, p.at, e)
	}
}

// BenchmarkSnapshot is one snapshot of a million voters, and back.
func BenchmarkSnapshot(b *testing.B) {
	p := crowd(million)
	snapshot := p.AppendSnapshot(nil, p.state)
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			p.AppendSnapshot(nil, p.state)
		}
	})
	b.Run("restore", func(b *testing.B) {
		for b.Loop() {
			if _, err := restoreSnapshot(snapshot); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkStatistics measures the cost of a batch besides its votes.
func BenchmarkStatistics(b *testing.B) {
	var sums voteSums
	for i := range int64(1000) {
		sums.add(i%40, 1, 1)
	}
	b.Run("derive", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = newStatistics(sums, Decay{}).Stddev()
		}
	})
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = newStatistics(sums, Decay{LastNudged: start, Val: 1.0 / 3, CurrentScale: 1.5, LastAltered: start}).encodeObject()
		}
	})
}

// BenchmarkService is one vote through the engine, by as many callers at once as
// the name says, over a store in memory.
func BenchmarkService(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s := NewService(storetest.NewMemory(), stream.SystemClock(), stream.Options{Exclusive: true})
			var next atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(max(1, callers/runtime.GOMAXPROCS(0)))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := next.Add(1)
					if _, err := s.Vote(b.Context(), local, Voter{OpaqueID: identity(int(i % 10_000))}, i%32, 1); err != nil {
						b.Error(err)
					}
				}
			})
			if err := s.Close(context.Background()); err != nil {
				b.Error(err)
			}
		})
	}
}

// BenchmarkVoteAll is votes through the engine, 1,000 together, over a store in memory: by
// voters of a poll of 100,000.
func BenchmarkVoteAll(b *testing.B) {
	s := NewService(storetest.NewMemory(), stream.SystemClock(), stream.Options{Exclusive: true})
	votes := make([]Submission, contract.MaxVotes)
	b.ReportAllocs()
	report := cputime.Measure(b)
	for n := 0; b.Loop(); n++ {
		for i := range votes {
			votes[i] = Submission{Voter: Voter{OpaqueID: identity((n*contract.MaxVotes + i) % 100_000)}, Value: int64(i % 32), Count: 1}
		}
		if _, err := s.VoteAll(b.Context(), local, votes, false, nil); err != nil {
			b.Fatal(err)
		}
	}
	report()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*contract.MaxVotes), "ns/vote")
	if err := s.Close(context.Background()); err != nil {
		b.Error(err)
	}
}
