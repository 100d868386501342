package voting

import (
	"context"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// Overview holds the figures that subscribers of a poll receive.
type Overview struct {
	*Statistics
	// Config is the configuration in force, Configured reports whether it is a saved one.
	Config     Config
	Configured bool
	// Resets counts how often the poll was deleted.
	Resets uint64
	// Head is the sequence number of the log's last chunk, 0 for a poll that was never
	// used.
	Head uint64
	// Closed reports that no vote can come any more under the configuration: the log has
	// passed its end.
	Closed bool
	// Wait is the time after which a poll whose end has passed, and that is not closed, should be
	// concluded again. It is 0 of any other.
	Wait time.Duration
}

// Status returns the status of the poll as its subscribers are to know it: as the clock says,
// but expired once the log has passed its end, and not before. So votes that an owner with a
// slower clock still accepts are counted before the poll is said to have expired.
func (o Overview) Status(now time.Time) contract.Status {
	status := o.Config.Status(now)
	switch {
	case o.Closed:
		return contract.Expired
	case status == contract.Expired:
		return contract.Active
	}
	return status
}

// Overview returns the figures that subscribers of the poll receive now.
func (s *Service) Overview(ctx context.Context, p Poll) (Overview, error) {
	answer, head, err := s.engine.ViewAt(ctx, p.Stream(), overviewQuery{})
	if err != nil {
		return Overview{}, err
	}
	return newOverview(answer, head), nil
}

func newOverview(a Answer, head stream.Position) Overview {
	o := Overview{Statistics: a.tally.Statistics, Config: DefaultConfig(), Resets: a.resets, Head: head.Seq}
	if a.config != nil {
		o.Config, o.Configured = *a.config, true
		o.Closed = a.config.closesBy(head.At)
	}
	return o
}

// closesBy reports whether the configuration takes no vote at a time in Unix milliseconds, nor
// at a later one.
func (c *Config) closesBy(at int64) bool { return c.StatusAt(at) == contract.Expired }

const (
	// closedFor is the time after its end from which a poll counts as closed whatever its log
	// says: no clock of a process that serves is so wrong. Polls that ended while no one
	// listened need no entry then.
	closedFor = time.Hour
	// Bounds of Overview.Wait: what the clock of the owner says may change, and so may the owner.
	leastWait, mostWait = 10 * time.Millisecond, 500 * time.Millisecond
)

// Conclude is Overview for a subscriber: where the end of the poll has passed at the given time,
// it has the owner close the poll. If the owner's clock says so too, the log gets a chunk that
// is no older than the end, unless it has one, and from then on no process accepts a vote. While
// the owner's clock is behind, or the store takes no chunk, the poll is not closed, and the
// figures may change still.
func (s *Service) Conclude(ctx context.Context, p Poll, now time.Time) (Overview, error) {
	o, err := s.Overview(ctx, p)
	if err != nil || o.Closed || o.Config.Status(now) != contract.Expired {
		return o, err
	}
	if now.Sub(time.Unix(o.Config.EndsAt, 0)) >= closedFor {
		o.Closed = true
		return o, nil
	}
	answer, head, err := s.engine.DoAtFrom(ctx, stream.LevelConclusions, p.Stream(), concludeCommand{})
	if err != nil {
		o.Wait = mostWait
		return o, ctx.Err() // what was read is true
	}
	if o = newOverview(answer, head); !o.Closed && o.Configured && o.Config.Status(now) == contract.Expired {
		left := time.Duration(o.Config.EndsAt*1000-answer.decided) * time.Millisecond
		o.Wait = min(max(left, leastWait), mostWait)
	}
	return o, nil
}

// concludeCommand has the log reach the end of the poll once that has passed. It changes nothing
// else, and answers with all that subscribers of a poll see.
type concludeCommand struct{ overviewQuery }

func (concludeCommand) decideAt(s *State, at int64) (pollDecision, error) {
	decision := pollDecision{Result: Answer{decided: at}}
	if s.list.isRunning() && !s.list.isClosed() && s.config.closesBy(at) {
		decision.Entry, decision.Store = listedEvent{kind: kindClosed, place: s.list.place(), reveals: s.list.key != nil}, true
	}
	if s.config != nil && s.config.closesBy(at) {
		decision.Reach = s.config.EndsAt * 1000
	}
	return decision, nil
}

func (concludeCommand) appendTo(buf []byte) []byte { return append(buf, commandConclude) }
