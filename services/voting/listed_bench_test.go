package voting

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/testing/cputime"
)

// BenchmarkListed reports the processor time of a vote in batches of 1,000 new voters, decided,
// encoded and applied by the poll's goroutine: in a poll that lists its votes, in one that does not, in
// turns, and the difference; and that of the goroutines that read the poll afterwards and hash the
// leaves. It reports the memory and the room in the log of a listed vote beside another one, too.
func BenchmarkListed(b *testing.B) {
	const size = 1000
	var took [2]int64
	var hashing int64
	var bytes, memory [2]int
	for b.Loop() {
		for kind := range took {
			p := newPoll()
			config := DefaultConfig()
			config.Verifiable = kind == 1
			d, err := p.Decide(p.state, p.at, configureCommand{id: "p", config: config, seed: &listSeed{}})
			if err != nil {
				b.Fatal(err)
			}
			p.Apply(p.state, p.at, d.Entry)
			for from := 0; from < 100*size; from += size {
				began := cputime.Spent(b)
				bytes[kind] += batchOfListed(b, p, from, size)
				applied := cputime.Spent(b)
				took[kind] += applied - began
				p.Answer(p.state, configQuery{}, Answer{})
				if kind == 1 {
					hashing += cputime.Spent(b) - applied
				}
			}
			memory[kind] = p.Size(p.state) / (100 * size)
		}
	}
	each := func(i int) float64 { return float64(took[i]) / float64(b.N*100*size) }
	b.ReportMetric(each(0), "ns/plain")
	b.ReportMetric(each(1), "ns/listed")
	b.ReportMetric(each(1)-each(0), "ns/more")
	b.ReportMetric(float64(hashing)/float64(b.N*100*size), "ns/hashed-by-readers")
	b.ReportMetric(float64(bytes[1]-bytes[0])/float64(b.N*100*size), "log-B/more")
	b.ReportMetric(float64(memory[1]-memory[0]), "memory-B/more")
}

func batchOfListed(b *testing.B, p *poll, from, size int) (bytes int) {
	fork := p.Fork(p.state)
	entries := make([]Entry, size)
	var payload []byte
	for i := range size {
		state := fork
		if i == 0 {
			state = p.state
		}
		nonce := verifiable.NonceHash{byte(i)}
		d, err := p.Decide(state, p.at, &voteCommand{voter: Voter{OpaqueID: fmt.Sprint("U", from+i)}, value: 1, times: 1, nonce: &nonce})
		if err != nil {
			b.Fatal(err)
		}
		entries[i] = d.Entry
		payload = p.AppendEntry(payload, d.Entry)
		p.Apply(fork, p.at, d.Entry)
	}
	for _, e := range entries {
		p.Apply(p.state, p.at, e)
	}
	return len(payload)
}

// BenchmarkBallots reports the time in which the ballot tree of a poll of 10,000,000 voters grows, the
// longest of its steps, in which the poll takes no entry, the memory for each voter, and the time of a proof.
func BenchmarkBallots(b *testing.B) {
	const voters, size = 10_000_000, 1000
	p := newPoll()
	run := func(c Command) {
		d, err := p.Decide(p.state, p.at, c)
		if err != nil {
			b.Fatal(err)
		}
		p.Apply(p.state, p.at, d.Entry)
	}
	config := DefaultConfig()
	config.Verifiable = true
	run(configureCommand{id: "p", config: config, seed: &listSeed{}})
	for from := 0; from < voters; from += size {
		batchOfListed(b, p, from, size)
	}
	config.EndsAt = p.at/1000 - 1
	run(configureCommand{id: "p", config: config, seed: &listSeed{}})
	run(concludeCommand{})
	list := p.state.list
	var longest, proving time.Duration
	var memory uint64
	var spent int64
	for b.Loop() {
		list.ballots.Store(nil)
		before, atFirst := allocated(), cputime.Spent(b)
		for growing := true; growing; {
			began := time.Now()
			_, growing = list.ballotRoot(p.state, true)
			longest = max(longest, time.Since(began))
		}
		spent += cputime.Spent(b) - atFirst
		memory = allocated() - before
	}
	began := time.Now()
	const proofs = 100
	for i := range int64(proofs) {
		if list.proveBallot(p.state, 2+i*99_991) == nil {
			b.Fatal("no proof")
		}
	}
	proving = time.Since(began) / proofs
	b.ReportMetric(float64(spent)/float64(b.N)/1e9, "cpu-s/tree")
	b.ReportMetric(float64(longest.Milliseconds()), "ms/longest-step")
	b.ReportMetric(float64(memory)/voters, "B/voter")
	b.ReportMetric(float64(proving.Microseconds()), "us/proof")
}

// allocated returns the bytes that live on the heap.
func allocated() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
