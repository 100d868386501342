package sink

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// What the platform is sent for viewers, and when, does not depend on votes whose results
// are hidden: neither by content nor by what is sent together (section 2.9 of the
// contract).
func TestTwinsOnThePlatform(t *testing.T) {
	for seed := range uint64(8) {
		var twins [2][]string
		for twin := range twins {
			in(t, func(t *testing.T) { twins[twin] = playTwin(t, seed, twin > 0) })
		}
		if diff := cmp.Diff(twins[0], twins[1]); diff != "" {
			t.Fatalf("with seed %d the platform can tell the polls apart (-no votes +votes):\n%s", seed, diff)
		}
		if len(twins[0]) < 20 {
			t.Errorf("with seed %d the platform received %d times only", seed, len(twins[0]))
		}
	}
}

func playTwin(t *testing.T, seed uint64, votes bool) (all []string) {
	store, to := storetest.NewMemory(), &system{t: t}
	// Nothing that is delivered comes at the same time as a look at the polls: which of the
	// two is first would be by chance.
	tuned := defaultTuning(false)
	tuned.every, tuned.transport = 1013*time.Millisecond, to
	p := boot(t, store, platform, true, tuned)
	began := time.Now()
	pass(137 * time.Millisecond)
	p.publish("", "goal", "0")
	shared, private := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, 1))
	configure := func() {
		config := voting.DefaultConfig()
		config.ResultsVisibility, config.Prompt = voting.VisibleToStaff, fmt.Sprint(shared.IntN(1000))
		if shared.IntN(2) == 0 {
			config.ResultsVisibility, config.EndsAt = voting.VisibleAfterClose, time.Now().Unix()+10000
		}
		if err := p.votes.Configure(t.Context(), pollOf("p"), config); err != nil {
			t.Fatal(err)
		}
	}
	configure()
	pass(5 * time.Second)
	for range 40 {
		end := time.Now().Add(time.Duration(100+shared.IntN(4000)) * time.Millisecond)
		for votes && private.IntN(3) > 0 {
			if left := time.Until(end); left > time.Millisecond {
				pass(time.Duration(private.Int64N(int64(left/time.Millisecond))) * time.Millisecond)
			}
			p.vote("p", private.IntN(1000))
		}
		pass(time.Until(end))
		switch shared.IntN(4) {
		case 0:
			configure()
		case 1:
			p.reset("p")
			configure()
		default:
			p.publish("", "goal", fmt.Sprint(shared.IntN(1000)))
		}
	}
	pass(10 * time.Second)
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, r := range to.tried {
		all = append(all, fmt.Sprint(r.at.Sub(began), " ", r.body))
	}
	return all
}

// The numbers reach the platform when the poll closes, and a webhook, which is the
// extension's own, at once.
func TestHiddenResultsOfSinks(t *testing.T) {
	for name, registry := range map[string]string{"webhook": webhooks, "platform": platform, "webhook by sweeps": webhooks, "platform by sweeps": platform} {
		in(t, func(t *testing.T) {
			to := &system{t: t}
			name, sweeps := strings.CutSuffix(name, " by sweeps")
			p := start(t, storetest.NewMemory(), registry, to, !sweeps)
			pass(5 * time.Second)
			config := voting.DefaultConfig()
			config.ResultsVisibility, config.EndsAt = voting.VisibleAfterClose, time.Now().Unix()+60
			if err := p.votes.Configure(t.Context(), pollOf("p"), config); err != nil {
				t.Fatal(err)
			}
			pass(5 * time.Second)
			if got := to.received(); len(got) != 1 {
				t.Errorf("%s: the configuration is announced as %q", name, got)
			}
			p.vote("p", 1)
			pass(5 * time.Second)
			if name == "webhook" {
				to.want("vote_update:p 1")
			} else {
				to.want()
			}
			pass(time.Minute)
			if got := to.received(); len(got) != 2 || got[1] != "vote_update:p 1" {
				t.Errorf("%s: at the close came %q", name, got)
			}
		})
	}
}
