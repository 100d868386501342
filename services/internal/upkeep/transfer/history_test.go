package transfer_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// exportedChunk is a chunk of a poll in an export.
type exportedChunk struct {
	At      int64
	Entries []struct {
		Entry, Opaque string
		Value         int64
	}
}

// The points of a poll's history equal a fold of its export.
func TestHistoryIsAFoldOfTheExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, random := storetest.NewMemory(), rand.New(rand.NewPCG(1, 2))
		d, p := newDomains(t, m), pollOf("p")
		p.Extension = everything.Extension
		for range 400 {
			<-time.After(time.Duration(random.IntN(900)) * time.Millisecond)
			if random.IntN(50) == 0 {
				d.must(d.voting.Reset(t.Context(), p))
				continue
			}
			d.vote(p, voterOf(random.IntN(20)), random.Int64N(9), 1)
		}
		<-time.After(5 * time.Second)
		history, err := d.voting.History(t.Context(), p, voting.Voter{}, false, voting.HistoryRange{Step: 1}, func(int64) error { return nil })
		d.must(err)
		var chunks []exportedChunk
		for line := range strings.Lines(string(export(t, m, transfer.Scope{Extension: p.Extension, Environments: []string{p.Environment}, Kinds: []string{"votes"}}))) {
			if strings.HasPrefix(line, `{"record":"chunk"`) {
				var chunk exportedChunk
				d.must(json.Unmarshal([]byte(line), &chunk))
				chunks = append(chunks, chunk)
			}
		}
		if len(history.Points) < 100 || len(chunks) < 100 {
			t.Fatalf("%d points of %d chunks", len(history.Points), len(chunks))
		}
		for _, point := range history.Points {
			votes := map[string]int64{}
			for _, chunk := range chunks {
				for _, e := range chunk.Entries {
					switch {
					case chunk.At/1000 > point.At:
					case e.Entry == "reset":
						clear(votes)
					default:
						votes[e.Opaque] = e.Value
					}
				}
			}
			want := [9]int{}
			for _, value := range votes {
				want[value]++
			}
			var got struct {
				Count    int
				Specific [32]int
			}
			d.must(json.Unmarshal(point.AppendJSON(nil, nil), &got))
			if got.Count != len(votes) || [9]int(got.Specific[:9]) != want {
				t.Fatalf("at %d there are %d votes, %v; in the export %d, %v", point.At, got.Count, got.Specific[:9], len(votes), want)
			}
		}
	})
}
