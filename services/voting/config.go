package voting

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Config is a poll's configuration, which decides about votes.
type Config contract.PollConfig

// DefaultConfig is in force while a poll has none of its own.
func DefaultConfig() Config { return Config(contract.DefaultPollConfig()) }

func (c *Config) isOpen(at int64) bool { return !c.Disabled && c.StatusAt(at) == contract.Active }

// isMultiVote reports whether votes add up instead of replacing one another.
func (c *Config) isMultiVote() bool { return c.TotalVotesPerUser > 1 }

// checkLimits returns why the configuration may not be stored for the poll with the
// given id, or nil.
func (c *Config) checkLimits(id string) error {
	bounds := (*contract.PollConfig)(c).Bounds()
	for _, reason := range []string{
		contract.FirstBroken([]contract.Bound{contract.PollIDBound("id", id)}),
		reasonIf(strings.Contains(id, "."), "id must not contain '.'"),
		reasonIf(c.Global && !isGlobal(id), "id of a global poll must begin with 'global'"),
		contract.FirstBroken(bounds),
		c.ScheduleProblem(),
		reasonIf(!isKnown(c.ResultsVisibility), "resultsVisibility must be always, afterVote, afterClose or staff"),
		reasonIf(!slices.Contains([]string{"", contract.EntriesLive, contract.EntriesNever}, c.Entries), "entries must be close, live or never"),
	} {
		if reason != "" {
			return fault.New(fault.Invalid, reason)
		}
	}
	if c.WeightedVotes && c.DeviceVoting {
		return errWeights
	}
	return cmp.Or(c.checkListed(), c.checkDevices(id), c.checkPictures(id), c.checkStrict())
}

func reasonIf(broken bool, reason string) string {
	if broken {
		return reason
	}
	return ""
}

func isWithin(n, low, high int64) bool { return low <= n && n <= high }

// compactUserData drops the insignificant white space of userData, which does not count in
// its size, and copies what the caller may change.
func (c *Config) compactUserData() error {
	c.Options = append([]string(nil), c.Options...) // nil when there are none
	c.Pictures = append([]string(nil), c.Pictures...)
	if len(c.UserData) == 0 {
		c.UserData = nil
		return nil
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, c.UserData); err != nil {
		return errInvalidBody
	}
	c.UserData = buf.Bytes()
	return nil
}

// JSON returns the configuration with the names of section 2.4.
func (c *Config) JSON() []byte { return c.encodeJSON() }

// encodeJSON returns the form in which it is stored and forwarded. Equal configurations
// have equal encodings, and userData keeps its bytes.
func (c *Config) encodeJSON() []byte {
	encoded, err := exactjson.Marshal(c)
	if err != nil {
		panic(err) // strings, integers and JSON that compact has accepted
	}
	return encoded
}

func decodeConfig(encoded []byte) (c Config, err error) {
	err = json.Unmarshal(encoded, &c)
	return c, err
}
