package voting

import (
	"context"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// Service answers for the polls of a store.
type Service struct {
	rewrite.Service
	engine *stream.Engine[*State, Command, Entry, Answer]
	clock  stream.Clock
	reads  func(stream.Level) bool // reports whether all processes read the commands of a level
	moved  func(Poll)              // is called after changes of lists
	lists  bool                    // polls may list their votes
}

// NewService returns a service over store. Close ends it.
func NewService(store stream.Store, clock stream.Clock, options stream.Options) *Service {
	options.AllowEqualTimestamps = true // the order of votes is that of the log
	engine := stream.New(pollRules{}, store, clock, options)
	rewriter := rewrite.New(engine, engine, store)
	s := &Service{Service: rewrite.Service{Runner: engine, Rewriter: rewriter}, engine: engine, clock: clock, reads: options.AllRead, moved: func(Poll) {}}
	rewriter.BeforeErase(s.noteErasure)
	rewriter.KeepEntries(s.keepsList)
	return s
}

// Vote submits count copies of value, which may be NoValue, and returns the statistics with them in.
// It refuses with the reasons of section 7. Here and elsewhere keys has at most one element.
func (s *Service) Vote(ctx context.Context, p Poll, v Voter, value, count int64, keys ...*once.Key) (Tally, error) {
	return s.Cast(ctx, p, Submission{Voter: v, Value: value, Count: count}, false, keys...)
}

// Cast submits a vote, whose Key it ignores, and returns the statistics with it in. With existing it
// refuses one that would make a poll, with fault.NotFound.
func (s *Service) Cast(ctx context.Context, p Poll, v Submission, existing bool, keys ...*once.Key) (Tally, error) {
	level := stream.Level(0)
	command := s.newVote(&v, existing)
	if command.isListed() {
		level = stream.LevelVerifiable
	}
	var answer Answer
	var err error
	if s.isWeighted(&v) {
		answer, err = s.castWeighted(ctx, p, v, &command, once.First(keys))
	} else {
		answer, err = s.engine.DoFrom(ctx, level, p.Stream(), &command, keys...)
	}
	if err == nil && answer.listed != nil {
		s.moved(p)
	}
	return s.judgeTally(answer), err
}

// Tally returns the poll's statistics; those of an unknown poll are zero.
func (s *Service) Tally(ctx context.Context, p Poll, v Voter) (Tally, error) {
	answer, err := s.engine.View(ctx, p.Stream(), standingQuery{voter: v})
	return s.judgeTally(answer), err
}

// Reset deletes vote state, modifiers and configuration; the log stays.
func (s *Service) Reset(ctx context.Context, p Poll) error {
	return s.runCommand(ctx, p, resetCommand{})
}

// ListVotes lets polls list their votes, and has moved called after each change by this process that
// may be one of a list. It is called before the service is used, and moved returns at once.
func (s *Service) ListVotes(moved func(Poll)) { s.moved, s.lists = moved, true }

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
func (s *Service) Config(ctx context.Context, p Poll) (config Config, status contract.Status, saved bool, err error) {
	answer, err := s.engine.View(ctx, p.Stream(), configQuery{})
	config, status, saved = s.readConfig(answer)
	return config, status, saved, err
}

func (s *Service) readConfig(a Answer) (config Config, status contract.Status, saved bool) {
	config = DefaultConfig()
	if saved = a.config != nil; saved {
		config = *a.config
	}
	return config, config.Status(s.clock.Now()), saved
}

func (s *Service) runCommand(ctx context.Context, p Poll, c Command, keys ...*once.Key) error {
	_, err := s.engine.Do(ctx, p.Stream(), c, keys...)
	s.moved(p)
	return err
}
