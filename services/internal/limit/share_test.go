package limit_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/limit"
)

// shared is a claim on a quota of so many an hour that parties share.
func shared(party string, perHour int64) limit.Claim {
	return limit.Claim{Holder: "ext", Party: party, Rate: limit.Per(perHour, time.Hour), Amount: 1}
}

// take takes as often as it can, at most so often, and returns how often it could.
func take(l *limit.Ledger, now time.Time, c limit.Claim, most int) (taken int) {
	for range most {
		if err := l.Take(now, limit.Caller{}, c); err == nil {
			taken++
		}
	}
	return taken
}

var began = time.Unix(1_000_000, 0)

// One party alone gets the whole quota. Its anonymous members get three quarters of it: above that
// they may have a quarter of the share, and have used more.
func TestPartyAlone(t *testing.T) {
	l := limit.NewLedger(alone, nil)
	if got := take(l, began, shared("show", 1_000), 2_000); got != 1_000 {
		t.Errorf("a party alone took %d of 1,000", got)
	}
	anonymous := shared("show", 1_000)
	anonymous.Anonymous = true
	l = limit.NewLedger(alone, nil)
	if got := take(l, began, anonymous, 2_000); got < 750 || got > 751 {
		t.Errorf("anonymous members alone took %d of 1,000, want three quarters", got)
	}
	if got := take(l, began, shared("show", 1_000), 2_000); got < 249 {
		t.Errorf("the others of the party took %d after them", got)
	}
}

// Whatever 64 parties take first, a favoured one finds its share, and any other one does unless
// one alone has taken everything.
func TestHonestParty(t *testing.T) {
	const amount = 6_500
	for name, attack := range map[string]func(l *limit.Ledger){
		"one":        func(l *limit.Ledger) { take(l, began, shared("loud", amount), 2*amount) },
		"one by one": func(l *limit.Ledger) { attackBy(l, 64, 2*amount, amount) },
		"in turns": func(l *limit.Ledger) {
			for range amount {
				attackBy(l, 64, 1, amount)
			}
		},
	} {
		l := limit.NewLedger(alone, nil)
		l.Favour("ext", "show")
		attack(l)
		if got := take(l, began, shared("show", amount), 50); got != 50 {
			t.Errorf("%s: the show took %d of 50", name, got)
		}
	}
	l := limit.NewLedger(alone, nil)
	for range amount {
		attackBy(l, 64, 1, amount)
	}
	l.Favour("ext", "other")
	if got := take(l, began.Add(time.Minute), shared("plain", amount), 50); got != 50 {
		t.Errorf("a party that is not favoured took %d of 50 a minute later", got)
	}
}

func attackBy(l *limit.Ledger, parties, each int, amount int64) {
	for i := range parties {
		take(l, began, shared("loud"+strconv.Itoa(i), amount), each)
	}
}

// Over hours, parties that always ask get equal parts, together no more than the quota, and the
// one that asks for little gets all that it asks for.
func TestSharesInTheLongRun(t *testing.T) {
	const amount, hours, parties = 3_600, 6, 14
	l := limit.NewLedger(alone, nil)
	given := make([]int, parties)
	quiet, asked := 0, 0
	for second := range hours * 3600 {
		now := began.Add(time.Duration(second) * time.Second)
		for i := range given {
			given[i] += take(l, now, shared(strconv.Itoa(i), amount), 3)
		}
		if second > 3600 && second%60 == 0 {
			asked++
			quiet += take(l, now, shared("quiet", amount), 1)
		}
	}
	total := quiet
	for i, n := range given {
		total += n
		if fair := amount * hours / (parties + 1); n < fair*8/10 || n > fair*3 {
			t.Errorf("party %d took %d, its share is %d", i, n, fair)
		}
	}
	if quiet != asked {
		t.Errorf("the quiet party took %d of %d", quiet, asked)
	}
	if most := amount*(hours+1) + amount/4; total > most {
		t.Errorf("all together took %d, want at most %d", total, most)
	}
}

// A party that has rested for long takes its share once, not once more for the time of rest.
func TestPartyAfterRest(t *testing.T) {
	l := limit.NewLedger(alone, nil)
	take(l, began, shared("loud", 1_000), 1)
	later := began.Add(24 * time.Hour)
	take(l, later, shared("loud", 1_000), 700)
	take(l, later, shared("show", 1_000), 1)
	if got := take(l, later, shared("loud", 1_000), 1_000); got > 50 {
		t.Errorf("the party took 700 of 1,000 and then %d more; its share is a third", got)
	}
}
