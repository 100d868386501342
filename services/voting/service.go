package voting

import (
	"context"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// HalfLife is the half-life of the decayed sum unless another is configured.
const HalfLife = time.Minute

// Service answers for the polls of a store.
type Service struct {
	engine *stream.Engine[*State, Command, Entry, Answer]
	clock  stream.Clock
}

// NewService returns a service over store. Close ends it. The half-life counts in
// whole milliseconds and as at least one.
func NewService(store stream.Store, clock stream.Clock, options stream.Options, halfLife time.Duration) *Service {
	options.Ties = true // the order of votes is that of the log
	domain := rules{halfLife: float64(max(1, halfLife.Milliseconds()))}
	return &Service{engine: stream.New(domain, store, clock, options), clock: clock}
}

// Vote submits count copies of value and returns the statistics with them in.
// It refuses with the reasons of section 7.
func (s *Service) Vote(ctx context.Context, p Poll, v Voter, value, count int64) (Tally, error) {
	answer, err := s.engine.Do(ctx, p.Stream(), vote{v, value, count})
	return answer.tally, err
}

// Tally returns the poll's statistics; those of an unknown poll are zero.
func (s *Service) Tally(ctx context.Context, p Poll, v Voter) (Tally, error) {
	answer, err := s.engine.View(ctx, p.Stream(), standing{v})
	return answer.tally, err
}

// Reset deletes vote state, modifiers and configuration; the log stays.
func (s *Service) Reset(ctx context.Context, p Poll) error {
	return s.do(ctx, p, remove{})
}

// Modify adds to the modifiers of the given identifier.
func (s *Service) Modify(ctx context.Context, p Poll, user string, add int64) error {
	return s.do(ctx, p, modify{user, add})
}

// Configure saves the poll's configuration. Limits that were omitted are given
// as 1; a negative EndsAt means now.
func (s *Service) Configure(ctx context.Context, p Poll, c Config) error {
	return s.do(ctx, p, configure{p.ID, c})
}

// Config returns the saved configuration and the status it gives the poll now;
// saved is false when there is none.
func (s *Service) Config(ctx context.Context, p Poll) (config Config, status Status, saved bool, err error) {
	answer, err := s.engine.View(ctx, p.Stream(), settings{})
	config = DefaultConfig()
	if saved = answer.config != nil; saved {
		config = *answer.config
	}
	return config, config.Status(s.clock.Now()), saved, err
}

// Overview is what a poll's audience is told of.
type Overview struct {
	*Statistics
	// EndsAt is when the poll ends in Unix seconds, 0 where that is not set.
	EndsAt int64
	// Resets counts how often the poll was deleted.
	Resets uint64
	// Head is how far the log had come, 0 for a poll that nobody has used.
	Head uint64
}

// Overview returns what the poll's audience is told of, as of now.
func (s *Service) Overview(ctx context.Context, p Poll) (Overview, error) {
	answer, head, err := s.engine.ViewAt(ctx, p.Stream(), overview{})
	if err != nil {
		return Overview{}, err
	}
	o := Overview{Statistics: answer.tally.Statistics, Resets: answer.resets, Head: head}
	if answer.config != nil {
		o.EndsAt = answer.config.EndsAt
	}
	return o, nil
}

func (s *Service) do(ctx context.Context, p Poll, c Command) error {
	_, err := s.engine.Do(ctx, p.Stream(), c)
	return err
}

// Serve answers what another process passed on with Options.Peers.
func (s *Service) Serve(ctx context.Context, request []byte) ([]byte, error) {
	return s.engine.Serve(ctx, request)
}

// Verify replays the stream with that name and compares it with its snapshot.
// [stream.ErrDamaged] says that it is not sound.
func (s *Service) Verify(ctx context.Context, name string) (stream.Report, error) {
	return s.engine.Verify(ctx, name, (*State).equal)
}

// Linked returns what other ids entries of a viewer hold in the stream with that name,
// as [stream.Engine.Linked] does.
func (s *Service) Linked(ctx context.Context, name string, ids []string) ([]string, error) {
	return s.engine.Linked(ctx, name, ids)
}

// Erase gives a viewer random names in the stream with that name, as
// [stream.Engine.Erase] does.
func (s *Service) Erase(ctx context.Context, name string, viewer stream.Viewer) (stream.Erased, error) {
	return s.engine.Erase(ctx, name, viewer)
}

// Trim takes the entries from before a time out of the stream with that name, as
// [stream.Engine.Trim] does.
func (s *Service) Trim(ctx context.Context, name string, before time.Time) (stream.Trimmed, error) {
	return s.engine.Trim(ctx, name, before)
}

// Trimmable reports whether Trim has something to do.
func (s *Service) Trimmable(ctx context.Context, name string, before time.Time) (bool, error) {
	return s.engine.Trimmable(ctx, name, before)
}

// DropSnapshot deletes the snapshot of the stream with that name if nothing was
// appended since a time.
func (s *Service) DropSnapshot(ctx context.Context, name string, before time.Time) (bool, error) {
	return s.engine.DropSnapshot(ctx, name, before)
}

// Stats returns the figures of the engine.
func (s *Service) Stats() stream.Stats { return s.engine.Stats() }

// Close drains the service.
func (s *Service) Close(ctx context.Context) error { return s.engine.Close(ctx) }
