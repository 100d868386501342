package voting_test

import (
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// An overview has the figures that subscribers receive: the statistics, the end, and
// how often the poll was deleted, which survives a deletion. Every process returns the
// same, also after it reads the log again.
func TestOverview(t *testing.T) {
	ctx, store := t.Context(), storetest.NewMemory()
	away, o := passing(t, store, nil)
	wantOverview := func(endsAt int64, resets, head uint64, sum string) {
		t.Helper()
		for name, s := range map[string]*voting.Service{
			"passed on": away, "owner": o.service, "anew": newService(t, store, stream.Options{}),
		} {
			got, err := s.Overview(ctx, forwardedPoll)
			if err != nil {
				t.Fatal(err)
			}
			if figures := string(got.AppendJSON(nil, nil)); got.Config.EndsAt != endsAt || got.Resets != resets || got.Head != head || figures[:len(sum)] != sum {
				t.Errorf("%s: ends at %d, %d resets, head %d, %s", name, got.Config.EndsAt, got.Resets, got.Head, figures)
			}
		}
	}
	none, one := `{"stddev":0,"mean":0,"sum":0`, `{"stddev":0,"mean":7,"sum":7`
	wantOverview(0, 0, 0, none)
	config := voting.DefaultConfig()
	config.EndsAt = 1 << 40
	for _, err := range []error{
		away.Reset(ctx, forwardedPoll), // nothing was there
		away.Configure(ctx, forwardedPoll, config),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := away.Vote(ctx, forwardedPoll, voting.Voter{OpaqueID: "U1"}, 7, 1); err != nil {
		t.Fatal(err)
	}
	wantOverview(1<<40, 0, 2, one)
	if err := away.Reset(ctx, forwardedPoll); err != nil {
		t.Fatal(err)
	}
	wantOverview(0, 1, 3, none)
}
