// Package voting is the domain of polls: which votes are accepted, what they
// add up to, and what is remembered of them.
//
// A poll is one stream. Everything that happens to it (votes, configurations,
// modifiers, resets) is an entry of its log, in one order, so limits, votes and
// resets never race; its statistics are a fold over that log, kept in integers
// and exact whatever the number of votes.
//
// The package decides and computes. It may not know HTTP or a database, has no
// clock of its own (every rule is given the time) and imports no other domain.
package voting

import (
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/key"
)

// Kind is the first element of the names of polls' streams; the environment is
// the second.
const Kind = "poll"

// Poll names a poll. An ID that begins with "global" is shared by the whole
// extension; any other belongs to the channel (section 2.1).
type Poll struct {
	Environment, Extension, Channel, ID string
}

// Stream returns the name of the poll's stream.
func (p Poll) Stream() string {
	if isGlobal(p.ID) {
		return key.Join(Kind, p.Environment, p.Extension, "global", p.ID)
	}
	return key.Join(Kind, p.Environment, p.Extension, "channel", p.Channel, p.ID)
}

func isGlobal(id string) bool { return strings.HasPrefix(id, "global") }

// Voter is whoever a request speaks for. UserID is empty when the viewer has
// not shared it.
type Voter struct {
	OpaqueID, UserID string
}

// identity returns the identifier by which a poll knows the voter, and false
// when the voter has none that counts: the shared user id in polls with
// userIDVoting, else the opaque one (section 2.1). Callers without an opaque id,
// such as backends, are known by their user id.
func (v Voter) identity(byUser bool) (string, bool) {
	id := v.OpaqueID
	if byUser || id == "" {
		id = v.UserID
	}
	return id, id != "" && len(id) <= maxIdentity
}

// Bounds of a vote (section 8).
const (
	minValue = -128
	maxValue = 128
	maxCount = 30 // copies of a value in one request

	// maxIdentity is longer than any id the platform issues, in bytes.
	maxIdentity = 512
)

// Refusals with the contract's reasons (section 7).
var (
	errInvalidBody      = fault.New(fault.Invalid, "Invalid body")
	errValueOutOfBounds = fault.New(fault.Invalid, "Value out of bounds")
	errCountOutOfBounds = fault.New(fault.Invalid, "Count out of bounds")
	errPollClosed       = fault.New(fault.Invalid, "poll is closed")
	errUnacceptable     = fault.New(fault.Invalid, "unacceptable vote")
)
