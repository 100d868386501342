package voting

import (
	"fmt"
	"testing"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/testing/cputime"
)

// BenchmarkListed reports the processor time of a vote in batches of 1,000 new voters, decided,
// encoded and applied: in a poll that lists its votes, in one that does not, in turns, and the
// difference. It reports the memory and the room in the log of a listed vote beside another one, too.
func BenchmarkListed(b *testing.B) {
	const size = 1000
	var took [2]int64
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
			began := cputime.Spent(b)
			for from := 0; from < 100*size; from += size {
				bytes[kind] += batchOfListed(b, p, from, size)
			}
			took[kind] += cputime.Spent(b) - began
			memory[kind] = p.Size(p.state) / (100 * size)
		}
	}
	each := func(i int) float64 { return float64(took[i]) / float64(b.N*100*size) }
	b.ReportMetric(each(0), "ns/plain")
	b.ReportMetric(each(1), "ns/listed")
	b.ReportMetric(each(1)-each(0), "ns/more")
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
