package voting

import (
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Refusals of votes in a strict poll (section 2.4).
var errNoOption = fault.New(fault.Invalid, "value names no option of the poll")

// lastTime is the last second of the year 2100. Greater times are most likely milliseconds.
const lastTime = 4133980799

// boundsVotes reports whether the options bound what may be voted for.
func (c *Config) boundsVotes() bool { return c.Strict && len(c.Options) > 0 }

// checkOption returns why a vote for value is refused, nil if it names an option.
func (c *Config) checkOption(value int64) error {
	if c.boundsVotes() && !isWithin(value, 0, int64(len(c.Options))-1) {
		return errNoOption
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
	if c.StartsAt > lastTime {
		return fault.New(fault.Invalid, "startsAt of a strict poll must be in seconds and not after the year 2100")
	}
	if c.EndsAt > lastTime {
		return fault.New(fault.Invalid, "endsAt of a strict poll must be in seconds and not after the year 2100")
	}
	return nil
}

// checkQuestion returns why a configuration may not replace the one in force, or nil.
func (s *State) checkQuestion(*Config, bool) error { return nil }
