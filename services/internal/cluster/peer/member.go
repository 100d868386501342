package peer

import (
	"context"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// Member is the record of one process in the membership.
type Member struct {
	// ID is random and new at every start.
	ID string
	// Heartbeat is the heartbeat counter.
	Heartbeat uint64
	// Address is the host:port at which the other members reach its listener.
	Address string
	// Digest is the SHA-256 sum of its certificate.
	Digest []byte
	// Unreachable lists the members it cannot reach.
	Unreachable []string
	// Serves lists prefixes of the names of the streams that the member may own.
	Serves []string
	// Level bounds the commands that it reads, 0 for a process of a release without levels.
	Level stream.Level
}

func (m *Member) servesStream(stream string) bool {
	return slices.ContainsFunc(m.Serves, func(prefix string) bool { return strings.HasPrefix(stream, prefix) })
}

// Membership stores the records by which members find one another.
type Membership interface {
	// WriteHeartbeat writes the record of a member. No other process writes that record.
	WriteHeartbeat(ctx context.Context, m Member) error
	// Members returns all records, those of members long gone included.
	Members(ctx context.Context) ([]Member, error)
	// Leave removes a member's record; without one it does nothing.
	Leave(ctx context.Context, id string) error
}
