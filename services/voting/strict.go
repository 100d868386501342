package voting

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// NoValue is the value of a vote whose client named none. It counts as 0, where the poll does
// not refuse it.
const NoValue int64 = math.MinInt64

// ValueOrZero returns the value that a vote has where its client may leave it out.
func ValueOrZero(value int64) int64 {
	if value == NoValue {
		return 0
	}
	return value
}

// Refusals of votes in a strict poll (section 2.12).
var (
	errNoOption = fault.New(fault.Invalid, "value names no option of the poll")
	errNoValue  = fault.New(fault.Invalid, "value is missing")
)

// Refusals of a configuration that would give stored votes another meaning.
var (
	errPromptChanges  = fault.New(fault.Conflict, "The poll has votes: prompt changes only with keepVotes or after the votes are deleted")
	errOptionsChanges = fault.New(fault.Conflict, "The poll has votes: options change, other than by new ones at the end, only with keepVotes or after the votes are deleted")
)

// boundsVotes reports whether the options bound what may be voted for.
func (c *Config) boundsVotes() bool { return c.Strict && len(c.Options) > 0 }

// checkOption returns why a vote for value is refused, nil if it names an option.
func (c *Config) checkOption(value int64) error {
	switch {
	case !c.boundsVotes():
		return nil
	case value == NoValue:
		return errNoValue
	case !isWithin(value, 0, int64(len(c.Options))-1):
		return errNoOption
	}
	return nil
}

// checkQuestion returns why a configuration may not replace the one in force, or nil. Where
// either is strict, stored votes keep their meaning unless the caller wants them kept anyway.
// Votes from before any configuration answer no question.
func (s *State) checkQuestion(next *Config, keepVotes bool) error {
	now := s.config
	if keepVotes || now == nil || !now.Strict && !next.Strict || s.voters.isEmpty() {
		return nil
	}
	return checkSameQuestion(now, next)
}

// checkSameQuestion returns what a configuration changes about the question of another one,
// as a refusal, or nil. New options at the end change nothing.
func checkSameQuestion(now, next *Config) error {
	if now.Prompt != next.Prompt {
		return errPromptChanges
	}
	if len(next.Options) < len(now.Options) || !slices.Equal(now.Options, next.Options[:len(now.Options)]) {
		return errOptionsChanges
	}
	return nil
}

// checkStrict returns why a strict configuration may not be stored, or nil.
func (c *Config) checkStrict() error {
	if !c.Strict {
		return nil
	}
	seen := make(map[string]bool, len(c.Options))
	for _, option := range c.Options {
		text := strings.TrimSpace(option)
		if text == "" {
			return fault.New(fault.Invalid, "options of a strict poll must not be empty")
		}
		if seen[text] {
			return fault.New(fault.Invalid, "options of a strict poll must differ from each other")
		}
		seen[text] = true
	}
	return cmp.Or(checkSeconds("startsAt", c.StartsAt), checkSeconds("endsAt", c.EndsAt))
}

// checkSeconds refuses a time in a distant year: such are most likely milliseconds.
func checkSeconds(member string, seconds int64) error {
	if seconds > contract.LastStrictTime {
		return fault.Newf(fault.Invalid, "%s of a strict poll must be in seconds and not after the year %d", member, contract.LastStrictYear)
	}
	return nil
}
