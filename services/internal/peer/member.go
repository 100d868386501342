package peer

import (
	"context"
	"slices"
	"strings"
)

// Member is one process as the registry knows it.
type Member struct {
	// ID is made anew at every start.
	ID string
	// Beat rises with every beat.
	Beat uint64
	// Address is where the other members reach its listener, as host:port.
	Address string
	// Digest is the SHA-256 sum of its certificate.
	Digest []byte
	// Unreachable lists the members it cannot reach.
	Unreachable []string
	// Serves lists prefixes of the names of the streams that may be at home there.
	Serves []string
}

func (m *Member) serves(stream string) bool {
	return slices.ContainsFunc(m.Serves, func(prefix string) bool { return strings.HasPrefix(stream, prefix) })
}

// Registry is where members find one another.
type Registry interface {
	// Beat writes the record of a member. Nobody else writes that record.
	Beat(ctx context.Context, m Member) error
	// Members returns all records, those of members long gone included.
	Members(ctx context.Context) ([]Member, error)
	// Leave removes a member's record; without one it does nothing.
	Leave(ctx context.Context, id string) error
}
