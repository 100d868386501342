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
	"fmt"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Kind is the first element of the names of polls' streams; the environment is
// the second.
const Kind = key.Poll

// Poll names a poll. An ID that begins with "global" is shared by the whole
// extension; any other belongs to the channel (section 2.1).
type Poll struct {
	Environment, Extension, Channel, ID string
}

// StreamName returns the name of the poll's stream.
func (p Poll) StreamName() key.Name {
	name := key.Name{Kind: Kind, Environment: p.Environment, Extension: p.Extension, Scope: key.Global, ID: p.ID}
	if !p.Global() {
		name.Scope, name.Channel = key.Channel, p.Channel
	}
	return name
}

// Stream returns the name of the poll's stream as it is stored.
func (p Poll) Stream() string { return p.StreamName().String() }

// Siblings returns the prefix of the names of the polls that are shared as this
// one is: by the extension, or by the channel.
func (p Poll) Siblings() string { return p.StreamName().Siblings() }

// PollOf returns the poll whose stream has a name.
func PollOf(name key.Name) (Poll, error) {
	p := Poll{Environment: name.Environment, Extension: name.Extension, Channel: name.Channel, ID: name.ID}
	if p.StreamName() != name {
		return Poll{}, fmt.Errorf("%+v is not the name of a poll", name)
	}
	return p, nil
}

// ParseStream returns the poll whose stream is stored under a name.
func ParseStream(stored string) (Poll, error) {
	name, err := key.ParseExact(stored)
	if err != nil {
		return Poll{}, err
	}
	return PollOf(name)
}

// Global reports whether the poll is shared by the whole extension.
func (p Poll) Global() bool { return isGlobal(p.ID) }

// StreamPrefix is the beginning of the names of the streams of an extension's polls.
func StreamPrefix(environment, extension string) string {
	return key.Prefix(Kind, environment, extension)
}

func isGlobal(id string) bool { return strings.HasPrefix(id, "global") }

// Voter is the viewer of a request. UserID is empty when the viewer has
// not shared it.
type Voter struct {
	OpaqueID, UserID string
}

// identityIn returns the identifier by which a poll knows the voter, and false
// when the voter has none that counts: the shared user id in polls with
// userIDVoting, else the opaque one (section 2.1). Callers without an opaque id,
// such as backends, are known by their user id.
func (v Voter) identityIn(byUser bool) (string, bool) {
	id := v.OpaqueID
	if byUser || id == "" {
		id = v.UserID
	}
	return id, id != "" && len(id) <= contract.MaxVoter
}

// isLoggedIn reports whether the voter has an account on the platform: it shares its
// user id, or its opaque id is that of a viewer who is logged in (section 2.8).
func (v Voter) isLoggedIn() bool { return v.UserID != "" || strings.HasPrefix(v.OpaqueID, "U") }

// Refusals with the contract's reasons (section 7).
var (
	errInvalidBody      = fault.New(fault.Invalid, "Invalid body")
	errValueOutOfBounds = fault.New(fault.Invalid, "Value out of bounds")
	errCountOutOfBounds = fault.New(fault.Invalid, "Count out of bounds")
	errPollClosed       = fault.New(fault.Invalid, "poll is closed")
	errNoPoll           = fault.New(fault.NotFound, "The poll does not exist")
	errLoggedOut        = fault.New(fault.Invalid, "only logged-in viewers may vote")
	errConfigChanged    = fault.New(fault.Mismatch, "configuration changed")
	errListFull         = fault.New(fault.Conflict, "The list of votes is full")
	errNoNonce          = fault.New(fault.Invalid, "The poll gives no receipts: a vote must have no nonceHash")
	errUnacceptable     = fault.New(fault.Invalid, "unacceptable vote")
)
