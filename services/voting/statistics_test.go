package voting

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
)

// TestSection22Encoding holds the encoding to the byte.
func TestSection22Encoding(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat(",0", n) }
	p := newPoll()
	const empty = `{"stddev":0,"mean":0,"sum":0,"specific":[0`
	want := empty + zeros(31) + `],"count":0,"decay":{"last_nudged":0,"val":0,"current_scale":0,"last_altered":0}}`
	if got := string(p.encode(ann)); got != want {
		t.Errorf("an empty poll is\n%s\nwant\n%s", got, want)
	}
	p.accept(t, cast(ann, 2))
	p.at += halfLife
	p.accept(t, cast(bob, -1))
	want = `{"stddev":2.1213203435596424,"mean":0.5,"sum":1,"specific":[0,0,1` + zeros(29) +
		`],"count":2,"decay":{"last_nudged":1800000060000,"val":0,"current_scale":2,"last_altered":1800000000000},"vote":-1}`
	if got := string(p.encode(bob)); got != want {
		t.Errorf("the poll is\n%s\nwant\n%s", got, want)
	}
}

func (p *poll) encode(v Voter) []byte {
	return Tally{Statistics: p.state.Statistics(), Vote: p.state.latestVote(v)}.AppendJSON(nil)
}

func TestFloatsAreJSON(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 0.5: "0.5", -2: "-2", 1e-7: "1e-07", 1e-6: "0.000001", 1e20: "100000000000000000000", 1e21: "1e+21", 0.1: "0.1",
	} {
		got := appendFloat(nil, f)
		var back float64
		if err := json.Unmarshal(got, &back); err != nil || back != f || string(got) != want {
			t.Errorf("%v is %s and back %v (%v), want %s", f, got, back, err, want)
		}
	}
}

// TestStatisticsAreShared: all callers between two changes get the same value, and its
// encoding is made once.
func TestStatisticsAreShared(t *testing.T) {
	p := newPoll()
	p.accept(t, cast(ann, 2))
	const readers = 16
	var got [readers]*Statistics
	var encoded [readers][]byte
	var all sync.WaitGroup
	for i := range readers {
		all.Go(func() {
			got[i] = p.state.Statistics()
			got[i].AppendJSON(nil, nil)
			encoded[i] = got[i].object
		})
	}
	all.Wait()
	for i := range readers {
		if got[i] != got[0] || &encoded[i][0] != &encoded[0][0] {
			t.Fatal("two readers of one state have statistics of their own")
		}
	}
	p.accept(t, cast(ann, 3))
	if p.state.Statistics() == got[0] {
		t.Error("a vote left the statistics as they were")
	}
	if mean := got[0].Mean(); mean != 2 {
		t.Errorf("the mean a reader holds became %v", mean)
	}
}
