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

// Stats returns the figures of the engine.
func (s *Service) Stats() stream.Stats { return s.engine.Stats() }

// Close drains the service.
func (s *Service) Close(ctx context.Context) error { return s.engine.Close(ctx) }
