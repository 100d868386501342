package stream

import (
	"context"
	"errors"
)

// Level orders the commands that releases have added: a process reads those up to its own, and
// gets no others from [Engine.DoFrom]. If it does get one, because it has just started, it runs
// nothing of the request, and the sender runs all of it.
type Level int

const (
	// LevelChanges adds changes of a part of a configuration.
	LevelChanges Level = 1
	// LevelConclusions adds the command that concludes a poll whose end has passed.
	LevelConclusions Level = 2
	// LevelAccounts adds accounts of coins that decide alone what their buyers have open.
	LevelAccounts Level = 3
	// LevelCastVersions adds the query for the version of a configuration that a voter voted on.
	LevelCastVersions Level = 4
	// LevelPublicResults adds the query for results that are public.
	LevelPublicResults Level = 5
	// LevelVerifiable adds lists of public entries: votes that their voters can check.
	LevelVerifiable Level = 6
	// LevelStaffKeys adds the staff keys of a channel, in the same release.
	LevelStaffKeys = LevelVerifiable
	// LevelWritten adds the question what a process has written, in the same release.
	LevelWritten = LevelVerifiable
	// LevelDevices adds votes of devices, likewise.
	LevelDevices = LevelVerifiable
	// LevelTieBreaks adds decisions of ties, likewise.
	LevelTieBreaks = LevelVerifiable
	// LevelWeights adds weights of credentials, likewise.
	LevelWeights = LevelVerifiable
	// LevelPictures adds pictures of options, likewise.
	LevelPictures = LevelVerifiable
	// LevelClears adds the command that deletes the votes of a poll for a change, likewise.
	LevelClears = LevelVerifiable
	// CurrentLevel names the commands that this release reads.
	CurrentLevel = LevelVerifiable
)

// Peers are the other processes that serve the same streams. They know the owner
// of each stream, so that its commands meet in one engine instead of racing from
// several. Exactness does not depend on them: views may differ, and requests may
// arrive late, twice or not at all.
type Peers interface {
	// Owner returns the peer that owns the stream, or nil if this process owns it or
	// the owner is unreachable.
	Owner(name string) Peer
	// Contenders returns how many other processes probably append to the stream too,
	// because one of them cannot reach its owner.
	Contenders(name string) int
}

// Peer is another process.
type Peer interface {
	// ID tells the process from every other.
	ID() string
	// Send hands a request to [Engine.Serve] of that process's engine for the same
	// domain. It gives receive each part of the answer, one at a time, and returns after the
	// last. An error that wraps ErrNotSent is certain that the request was not and will not be
	// dealt with; any other leaves that open for the groups that have no answer.
	Send(ctx context.Context, request []byte, receive func(part []byte)) error
}

// ErrNotSent marks a request that no peer will process.
var ErrNotSent = errors.New("stream: the request was not sent")
