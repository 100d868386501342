package voting

import (
	"context"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// IsPublic reports whether everyone sees the results while the poll has a status.
func (c *Config) IsPublic(status contract.Status) bool {
	return (c.PublicResults || c.Verifiable) && !c.HidesResults(status)
}

// publicQuery is the overviewQuery of a caller without a credential. Of a poll whose
// configuration neither makes the results public nor lets devices vote it tells nothing.
type publicQuery struct{ overviewQuery }

func (q publicQuery) answerFrom(s *State) Answer {
	if s.config == nil || !s.config.PublicResults && !s.config.Verifiable && !s.config.DeviceVoting {
		return Answer{}
	}
	return q.overviewQuery.answerFrom(s)
}

func (publicQuery) appendTo(buf []byte) []byte { return append(buf, queryPublic) }

var _ stream.Visitors[Command] = pollRules{}

// Visits implements [stream.Visitors]: anyone who guesses the name of a poll may ask for it.
func (pollRules) Visits(c Command) bool {
	if list, ok := c.(listQuery); ok {
		return list.visit
	}
	_, visit := c.(publicQuery)
	return visit
}

// PublicOverview is Overview for callers without a credential. The first of them is to visit the
// poll: then it stays in memory for no such caller, and is Configured only if its configuration
// makes the results public or lets devices vote.
func (s *Service) PublicOverview(ctx context.Context, p Poll, visit bool) (Overview, error) {
	var query Command = overviewQuery{}
	if visit {
		query = publicQuery{}
	}
	// An owner of an earlier release does not know which results are public, and which polls take
	// votes of devices.
	answer, head, err := s.engine.ViewFrom(ctx, stream.LevelDevices, p.Stream(), query)
	if err != nil {
		return Overview{}, err
	}
	return newOverview(answer, head), nil
}
