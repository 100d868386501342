package voting

import (
	"context"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/schedule"
)

// Service answers for the polls of a store.
type Service struct {
	stream.Admin
	engine *stream.Engine[*State, Command, Entry, Answer]
	clock  stream.Clock
}

// NewService returns a service over store. Close ends it.
func NewService(store stream.Store, clock stream.Clock, options stream.Options) *Service {
	options.AllowEqualTimestamps = true // the order of votes is that of the log
	engine := stream.New(pollRules{}, store, clock, options)
	return &Service{engine, engine, clock}
}

// Vote submits count copies of value, which may be NoValue, and returns the statistics with them in.
// It refuses with the reasons of section 7. Here and elsewhere keys has at most one element.
func (s *Service) Vote(ctx context.Context, p Poll, v Voter, value, count int64, keys ...*once.Key) (Tally, error) {
	answer, err := s.engine.Do(ctx, p.Stream(), voteCommand{voter: v, value: value, times: count}, keys...)
	return s.judgeTally(answer), err
}

// VoteExisting is Vote for a poll that exists: that had a vote, a modifier or a
// configuration. It refuses another one with fault.NotFound.
func (s *Service) VoteExisting(ctx context.Context, p Poll, v Voter, value, count int64, keys ...*once.Key) (Tally, error) {
	answer, err := s.engine.Do(ctx, p.Stream(), voteCommand{voter: v, value: value, times: count, existing: true}, keys...)
	return s.judgeTally(answer), err
}

// Tally returns the poll's statistics; those of an unknown poll are zero.
func (s *Service) Tally(ctx context.Context, p Poll, v Voter) (Tally, error) {
	answer, err := s.engine.View(ctx, p.Stream(), standingQuery{v})
	return s.judgeTally(answer), err
}

// Reset deletes vote state, modifiers and configuration; the log stays.
func (s *Service) Reset(ctx context.Context, p Poll) error {
	return s.runCommand(ctx, p, resetCommand{})
}

// Modify adds to the modifiers of the given identifier.
func (s *Service) Modify(ctx context.Context, p Poll, user string, add int64, keys ...*once.Key) error {
	return s.runCommand(ctx, p, modifyCommand{user, add}, keys...)
}

// Configure saves the poll's configuration. Limits that were omitted are given
// as 1; a negative EndsAt means now.
func (s *Service) Configure(ctx context.Context, p Poll, c Config) error {
	return s.runCommand(ctx, p, configureCommand{id: p.ID, config: c})
}

// Config returns the saved configuration and the status it gives the poll now;
// saved is false when there is none.
func (s *Service) Config(ctx context.Context, p Poll) (config Config, status schedule.Status, saved bool, err error) {
	answer, err := s.engine.View(ctx, p.Stream(), configQuery{})
	config = DefaultConfig()
	if saved = answer.config != nil; saved {
		config = *answer.config
	}
	return config, config.Status(s.clock.Now()), saved, err
}

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
}

// Overview returns the figures that subscribers of the poll receive now.
func (s *Service) Overview(ctx context.Context, p Poll) (Overview, error) {
	answer, head, err := s.engine.ViewAt(ctx, p.Stream(), overviewQuery{})
	if err != nil {
		return Overview{}, err
	}
	o := Overview{Statistics: answer.tally.Statistics, Config: DefaultConfig(), Resets: answer.resets, Head: head}
	if answer.config != nil {
		o.Config, o.Configured = *answer.config, true
	}
	return o, nil
}

func (s *Service) runCommand(ctx context.Context, p Poll, c Command, keys ...*once.Key) error {
	_, err := s.engine.Do(ctx, p.Stream(), c, keys...)
	return err
}
