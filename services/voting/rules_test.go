package voting

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// TestStatistics runs commands that are all accepted and looks at what ann sees.
func TestStatistics(t *testing.T) {
	tests := map[string]struct {
		commands []Command
		want     figures
	}{
		"2.2 rule 6: an empty poll is zero": {nil, figures{Count: "0", Sum: "0"}},
		"2.2 rule 1: the bounds are values": {
			[]Command{cast(ann, -128), cast(bob, 128)},
			figures{Count: "2", Sum: "0", Vote: "-128"}},
		"2.2 rule 2: outside 0..31 in no slot": {
			[]Command{cast(ann, 32), cast(bob, -1), cast(anon, 31), cast(bot, 0)},
			figures{Count: "4", Sum: "62", Specific: map[int]string{0: "1", 31: "1"}, Vote: "32"}},
		"2.2 rule 3: a later vote replaces": {
			[]Command{cast(ann, 5), cast(bob, 1), cast(ann, 7)},
			figures{Count: "2", Sum: "8", Specific: map[int]string{1: "1", 7: "1"}, Vote: "7"}},
		"2.2 rule 3: the same again": {
			[]Command{cast(ann, 5), cast(ann, 5)},
			figures{Count: "1", Sum: "5", Specific: map[int]string{5: "1"}, Vote: "5"}},
		"2.2 rule 4: multi-vote adds": {
			[]Command{limits(2, 5, 4), times(ann, 3, 3), cast(ann, 4), cast(ann, 3)},
			figures{Count: "5", Sum: "16", Specific: map[int]string{3: "4", 4: "1"}, Vote: "3"}},
		"2.2 rule 4: a modifier of -1 removes": {
			[]Command{cast(ann, 5), cast(bob, 1), modifyCommand{"Uann", -1}},
			figures{Count: "1", Sum: "1", Specific: map[int]string{1: "1"}, Vote: "5"}},
		"2.2 rule 5: weight of each stored vote": {
			[]Command{limits(9, 9, 9), times(ann, 3, 2), cast(ann, -7), modifyCommand{"Uann", 2}},
			figures{Count: "9", Sum: "-3", Specific: map[int]string{3: "6"}, Vote: "-7"}},
		"2.2 rule 5: never below zero": {
			[]Command{modifyCommand{"Uann", -9}, cast(ann, 5)},
			figures{Count: "0", Sum: "0", Vote: "5"}},
		"2.2 rule 5: a deficit must be made up for": {
			[]Command{cast(ann, 5), modifyCommand{"Uann", -9}, modifyCommand{"Uann", 9}, modifyCommand{"Uann", 1}},
			figures{Count: "2", Sum: "10", Specific: map[int]string{5: "2"}, Vote: "5"}},
		"4.1: modifiers accumulate, before and after the vote": {
			[]Command{modifyCommand{"Uann", 1}, cast(ann, 5), modifyCommand{"Uann", 1}},
			figures{Count: "3", Sum: "15", Specific: map[int]string{5: "3"}, Vote: "5"}},
		"4.1: a modifier of an id the poll does not use is for later": {
			[]Command{cast(ann, 5), modifyCommand{"1", 3}},
			figures{Count: "1", Sum: "5", Specific: map[int]string{5: "1"}, Vote: "5"}},
		"4.1: by user id a modifier goes by the user id": {
			[]Command{with(func(c *Config) { c.UserIDVoting = true }), modifyCommand{"1", 2}, modifyCommand{"Uann", 7}, cast(ann, 5)},
			figures{Count: "3", Sum: "15", Specific: map[int]string{5: "3"}, Vote: "5"}},
		"2.1: by user id two tokens are one voter": {
			[]Command{with(func(c *Config) { c.UserIDVoting = true }), cast(Voter{"Uother", "1"}, 5), cast(ann, 6)},
			figures{Count: "1", Sum: "6", Specific: map[int]string{6: "1"}, Vote: "6"}},
		"2.1: without an opaque id by user id": {
			[]Command{cast(bot, 5), cast(Voter{UserID: "3"}, 6)},
			figures{Count: "1", Sum: "6", Specific: map[int]string{6: "1"}}},
		"decisions: userIDVoting changes, stored votes stay": {
			[]Command{cast(ann, 5), with(func(c *Config) { c.UserIDVoting = true }), cast(ann, 6)},
			figures{Count: "2", Sum: "11", Specific: map[int]string{5: "1", 6: "1"}, Vote: "6"}},
		"decisions: userIDVoting changes back, the old vote is the voter's again": {
			[]Command{cast(ann, 5), with(func(c *Config) { c.UserIDVoting = true }), cast(ann, 6), with(func(*Config) {}), cast(ann, 7)},
			figures{Count: "2", Sum: "13", Specific: map[int]string{6: "1", 7: "1"}, Vote: "7"}},
		"decisions: modifiers outlive a configuration": {
			[]Command{modifyCommand{"Uann", 2}, limits(9, 9, 9), times(ann, 3, 2)},
			figures{Count: "6", Sum: "18", Specific: map[int]string{3: "6"}, Vote: "3"}},
		"decisions: the known vote goes by the identity in force": {
			[]Command{cast(ann, 5), with(func(c *Config) { c.UserIDVoting = true })},
			figures{Count: "1", Sum: "5", Specific: map[int]string{5: "1"}}},
		"decisions: a configuration discards nothing": {
			[]Command{limits(9, 9, 9), times(ann, 3, 9), limits(1, 2, 1)},
			figures{Count: "9", Sum: "27", Specific: map[int]string{3: "9"}, Vote: "3"}},
		"decisions: back in single-vote mode all entries are replaced": {
			[]Command{limits(9, 9, 9), times(ann, 3, 4), cast(ann, 6), limits(1, 1, 1), cast(ann, 8)},
			figures{Count: "1", Sum: "8", Specific: map[int]string{8: "1"}, Vote: "8"}},
		"decisions: the votes of single-vote mode count in multi-vote mode": {
			[]Command{cast(ann, 3), limits(2, 3, 3), times(ann, 3, 2)},
			figures{Count: "3", Sum: "9", Specific: map[int]string{3: "3"}, Vote: "3"}},
		"3: DELETE removes votes and the known vote": {
			[]Command{cast(ann, 3), resetCommand{}}, figures{Count: "0", Sum: "0"}},
		"3: DELETE removes the configuration": {
			[]Command{limits(9, 9, 9), resetCommand{}, cast(ann, 3), cast(ann, 4)},
			figures{Count: "1", Sum: "4", Specific: map[int]string{4: "1"}, Vote: "4"}},
		"decisions: DELETE removes modifiers": {
			[]Command{modifyCommand{"Uann", 4}, resetCommand{}, cast(ann, 3)},
			figures{Count: "1", Sum: "3", Specific: map[int]string{3: "1"}, Vote: "3"}},
		"exact: weights up to 2^53": {
			[]Command{modifyCommand{"Uann", contract.MaxModifier}, modifyCommand{"Ubob", contract.MaxModifier}, cast(ann, 128), cast(bob, 31)},
			figures{Count: "18014398509481986", Sum: "1432144681503817887", Specific: map[int]string{31: "9007199254740993"}, Vote: "128"}},
		"exact: sums over 64 bits": {
			[]Command{limits(1, 1024, 1024), modifyCommand{"Uann", contract.MaxModifier}, times(ann, 128, 30), times(ann, 128, 30)},
			figures{Count: "540431955284459580", Sum: "69175290276410826240", Vote: "128"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPoll()
			for _, c := range test.commands {
				p.at++
				p.accept(t, c)
			}
			p.want(t, ann, test.want)
		})
	}
}

// TestRefusals runs commands, only the last of them to be refused, and makes sure that
// a refusal changes nothing.
func TestRefusals(t *testing.T) {
	second := int64(start / 1000)
	open := func(from, to int64) configureCommand {
		return with(func(c *Config) { c.StartsAt, c.EndsAt = from, to })
	}
	disabled := with(func(c *Config) { c.Disabled = true })
	longest, tooLong := Voter{OpaqueID: strings.Repeat("o", 512)}, Voter{OpaqueID: strings.Repeat("o", 513)}
	byUser := with(func(c *Config) { c.UserIDVoting = true })
	tests := map[string]struct {
		before []Command
		last   Command
		reason string
	}{
		"8: value 129":                    {nil, cast(ann, 129), "Value out of bounds"},
		"8: value -129":                   {nil, cast(ann, -129), "Value out of bounds"},
		"8: count 0":                      {nil, times(ann, 1, 0), "Count out of bounds"},
		"8: count -1":                     {nil, times(ann, 1, -1), "Count out of bounds"},
		"4.1 rule 3: count 2 unasked for": {nil, times(ann, 1, 2), "Count out of bounds"},
		"4.1 rule 3: count over the total": {
			[]Command{limits(1, 4, 9)}, times(ann, 1, 5), "Count out of bounds"},
		"4.1 rule 3: count at the total": {[]Command{limits(1, 4, 9)}, times(ann, 1, 4), ""},
		"8: count 30":                    {[]Command{limits(1, 99, 99)}, times(ann, 1, 30), ""},
		"8: count 31":                    {[]Command{limits(1, 99, 99)}, times(ann, 1, 31), "Count out of bounds"},

		"decisions: disabled":         {[]Command{disabled}, cast(ann, 1), "poll is closed"},
		"decisions: pending":          {[]Command{open(second+1, 0)}, cast(ann, 1), "poll is closed"},
		"decisions: starts now":       {[]Command{open(second, 0)}, cast(ann, 1), ""},
		"decisions: ends now":         {[]Command{open(0, second)}, cast(ann, 1), "poll is closed"},
		"decisions: ends in a second": {[]Command{open(second, second+1)}, cast(ann, 1), ""},
		"decisions: ended by itself":  {[]Command{open(0, -1)}, cast(ann, 1), "poll is closed"},

		"2.1: nobody": {nil, cast(Voter{}, 1), "unacceptable vote"},
		"decisions: userIDVoting without a shared id": {[]Command{byUser}, cast(anon, 1), "unacceptable vote"},

		"7: an identity of 512 bytes":         {nil, cast(longest, 1), ""},
		"7: an identity of 513 bytes":         {nil, cast(tooLong, 1), "unacceptable vote"},
		"7: a modifier for 512 bytes":         {nil, modifyCommand{longest.OpaqueID, 1}, ""},
		"7: a modifier for 513 bytes":         {nil, modifyCommand{tooLong.OpaqueID, 1}, "Invalid body"},
		"7: the value before the count":       {nil, times(ann, 999, 999), "Value out of bounds"},
		"7: the count before the closed poll": {[]Command{disabled}, times(ann, 1, 2), "Count out of bounds"},
		"7: the closed poll before the voter": {[]Command{disabled}, cast(Voter{}, 1), "poll is closed"},

		"2.4: at the total": {
			[]Command{limits(9, 3, 9), times(ann, 1, 2)}, cast(ann, 2), ""},
		"2.4: over the total": {
			[]Command{limits(9, 3, 9), times(ann, 1, 2)}, times(ann, 2, 2), "unacceptable vote"},
		"2.4: at the votes for an option": {
			[]Command{limits(9, 9, 3), times(ann, 1, 2), times(ann, 2, 3)}, cast(ann, 1), ""},
		"2.4: over the votes for an option": {
			[]Command{limits(9, 9, 3), times(ann, 1, 2)}, times(ann, 1, 2), "unacceptable vote"},
		"2.4: at the distinct options": {
			[]Command{limits(2, 9, 9), cast(ann, 1), cast(ann, 2)}, cast(ann, 1), ""},
		"2.4: over the distinct options": {
			[]Command{limits(2, 9, 9), cast(ann, 1), cast(ann, 2)}, cast(ann, 3), "unacceptable vote"},
		"2.4: limits are for each voter": {
			[]Command{limits(1, 2, 2), times(ann, 1, 2)}, times(bob, 2, 2), ""},
		"2.4: limits do not count weights": {
			[]Command{limits(1, 2, 2), cast(ann, 1), modifyCommand{"Uann", 9}}, cast(ann, 1), ""},
		"decisions: limits apply to later votes": {
			[]Command{limits(9, 9, 9), times(ann, 1, 9), limits(9, 5, 9)}, cast(ann, 1), "unacceptable vote"},

		"decisions: a modifier for nobody": {nil, modifyCommand{"", 1}, "Invalid body"},
		"exact: a modifier of 2^53":        {nil, modifyCommand{"u", contract.MaxModifier}, ""},
		"exact: a modifier over 2^53":      {nil, modifyCommand{"u", contract.MaxModifier + 1}, "Invalid body"},
		"exact: a modifier below -2^53":    {nil, modifyCommand{"u", -contract.MaxModifier - 1}, "Invalid body"},
		"exact: only the sum of modifiers is bounded": {
			[]Command{modifyCommand{"u", contract.MaxModifier}}, modifyCommand{"u", -2 * contract.MaxModifier}, ""},
		"exact: a modifier that would overflow": {
			[]Command{modifyCommand{"u", contract.MaxModifier}}, modifyCommand{"u", math.MaxInt64}, "Invalid body"},
		"exact: a modifier that would underflow": {
			[]Command{modifyCommand{"u", -contract.MaxModifier}}, modifyCommand{"u", math.MinInt64}, "Invalid body"},
		"exact: modifiers over 2^53": {
			[]Command{modifyCommand{"u", contract.MaxModifier}}, modifyCommand{"u", 1}, "Invalid body"},
		"exact: modifiers below -2^53": {
			[]Command{modifyCommand{"u", -contract.MaxModifier}}, modifyCommand{"u", -1}, "Invalid body"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPoll()
			p.accept(t, test.before...)
			before, entries := p.answer(t, ann), len(p.log)
			if got := p.do(t, test.last); got != test.reason {
				t.Errorf("reason is %q, want %q", got, test.reason)
			}
			if test.reason == "" {
				return
			}
			if diff := cmp.Diff(before, p.answer(t, ann)); diff != "" || len(p.log) > entries {
				t.Errorf("the refusal stored something (-before +after):\n%s", diff)
			}
		})
	}
}

func TestSection3DeletingNothingStoresNothing(t *testing.T) {
	p := newPoll()
	p.accept(t, resetCommand{})
	if len(p.log) > 0 {
		t.Error("DELETE of a poll that is not there was stored")
	}
	for name, c := range map[string]Command{
		"votes": cast(ann, 1), "a configuration": limits(1, 1, 1), "modifiers": modifyCommand{"u", 1},
	} {
		p.accept(t, c)
		entries := len(p.log)
		p.accept(t, resetCommand{}, resetCommand{})
		if got := len(p.log) - entries; got != 1 {
			t.Errorf("DELETE twice of a poll with %s stored %d entries, want 1", name, got)
		}
	}
}
