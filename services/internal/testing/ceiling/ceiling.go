// Package ceiling answers every request without deciding or storing anything.
// Benchmarks run the program over it to measure the cost of the request path alone,
// so its answers have the size of real ones. It may not import a store.
package ceiling

import (
	"context"
	"iter"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Services are the canned answers of all domains.
type Services struct {
	tally voting.Tally
}

// New returns canned answers. Its statistics are those of a well-used poll.
func New(ctx context.Context) (*Services, error) {
	polls := voting.NewService(nothing{}, stream.SystemClock(), stream.Options{Exclusive: true})
	s := &Services{}
	for id := range int64(500) {
		voter := voting.Voter{OpaqueID: time.UnixMilli(id).String()}
		var err error
		if s.tally, err = polls.Vote(ctx, voting.Poll{}, voter, id%32, 1); err != nil {
			return nil, err
		}
	}
	return s, polls.Close(ctx)
}

// Provide adds the answers to an API.
func (s *Services) Provide(c *operation.Config) {
	c.Voting = s.Voting()
	c.Accumulation, c.Ranking = Accumulation{}, operation.Ranking{Answers: Ranking{}, Configs: Ranking{}}
	c.State = operation.State{Scopes: State{}, Named: State{}}
}

// Voting answers for package voting.
func (s *Services) Voting() operation.Voting {
	v := &Voting{tally: s.tally}
	return operation.Voting{Votes: v, Tallies: v, Configs: v, Logs: v}
}

// Voting implements the parts of [operation.Voting].
type Voting struct{ tally voting.Tally }

// Cast returns the canned statistics with the submitted vote: every poll exists.
func (v *Voting) Cast(_ context.Context, _ voting.Poll, vote voting.Submission, _ bool, _ ...*once.Key) (voting.Tally, error) {
	return voting.Tally{Statistics: v.tally.Statistics, Vote: &vote.Value}, nil
}

// VoteAll accepts all votes.
func (v *Voting) VoteAll(_ context.Context, _ voting.Poll, votes []voting.Submission, _ bool, _ *once.Key) (voting.Verdicts, error) {
	return voting.Verdicts{Refusals: make([]error, len(votes)), After: v.tally.Statistics}, nil
}

// Tally returns the canned statistics.
func (v *Voting) Tally(context.Context, voting.Poll, voting.Voter) (voting.Tally, error) {
	return v.tally, nil
}

// TallyWithDevices returns the canned statistics.
func (v *Voting) TallyWithDevices(context.Context, voting.Poll, voting.Voter) (voting.Tally, error) {
	return v.tally, nil
}

// TallyAt returns the canned statistics.
func (v *Voting) TallyAt(context.Context, voting.Poll, voting.Voter, bool, int64, voting.MemoryHold) (voting.Tally, error) {
	return v.tally, nil
}

// HidesPast hides nothing.
func (v *Voting) HidesPast(context.Context, voting.Poll, voting.Voter, bool) (bool, uint64, error) {
	return false, 0, nil
}

// History has no points.
func (v *Voting) History(context.Context, voting.Poll, voting.Voter, bool, voting.HistoryRange, voting.MemoryHold) (voting.History, error) {
	return voting.History{}, nil
}

// Reset does nothing.
func (v *Voting) Reset(context.Context, voting.Poll) error { return nil }

// Modify does nothing.
func (v *Voting) Modify(context.Context, voting.Poll, string, int64, ...*once.Key) error { return nil }

// ConfigFor is Config: no voter has voted on another one.
func (v *Voting) ConfigFor(ctx context.Context, p voting.Poll, _ voting.Voter) (config voting.Config, status contract.Status, saved bool, cast int64, err error) {
	config, status, saved, err = v.Config(ctx, p)
	return config, status, saved, 0, err
}

// Config returns the default configuration.
func (v *Voting) Config(context.Context, voting.Poll) (voting.Config, contract.Status, bool, error) {
	return voting.DefaultConfig(), contract.Active, true, nil
}

// Overview returns the default configuration.
func (v *Voting) Overview(context.Context, voting.Poll) (voting.Overview, error) {
	return voting.Overview{Config: voting.DefaultConfig(), Configured: true}, nil
}

// PublicOverview returns no public result.
func (v *Voting) PublicOverview(context.Context, voting.Poll, bool) (voting.Overview, error) {
	return voting.Overview{Config: voting.DefaultConfig()}, nil
}

// Conclude returns the default configuration.
func (v *Voting) Conclude(context.Context, voting.Poll, time.Time) (voting.Overview, error) {
	return voting.Overview{Config: voting.DefaultConfig(), Configured: true}, nil
}

// ClearVotes does nothing.
func (v *Voting) ClearVotes(context.Context, voting.Poll, voting.Change, ...*once.Key) error {
	return nil
}

// Change does nothing.
func (v *Voting) Change(context.Context, voting.Poll, voting.Change, ...*once.Key) (int64, bool, error) {
	return 0, false, nil
}

// LogWithConfigs yields nothing.
func (v *Voting) LogWithConfigs(ctx context.Context, p voting.Poll, after voting.Cursor) iter.Seq2[voting.LogRecord, error] {
	return v.Log(ctx, p, after)
}

// Log yields nothing.
func (v *Voting) Log(context.Context, voting.Poll, voting.Cursor) iter.Seq2[voting.LogRecord, error] {
	return func(func(voting.LogRecord, error) bool) {}
}

// Accumulation implements [operation.Accumulation].
type Accumulation struct{}

// Append does nothing.
func (Accumulation) Append(context.Context, accumulation.Buffer, accumulation.Submission, ...*once.Key) error {
	return nil
}

// AppendExisting does nothing.
func (Accumulation) AppendExisting(context.Context, accumulation.Buffer, accumulation.Submission, ...*once.Key) error {
	return nil
}

// Clear does nothing.
func (Accumulation) Clear(context.Context, accumulation.Buffer) error { return nil }

// Entries yields nothing.
func (Accumulation) Entries(context.Context, accumulation.Buffer, int64, *string) iter.Seq2[accumulation.Entry, error] {
	return func(func(accumulation.Entry, error) bool) {}
}

// Ranking implements the parts of [operation.Ranking].
type Ranking struct{}

// Submit accepts the answer.
func (Ranking) Submit(context.Context, ranking.Question, string, string, ...*once.Key) (ranking.Answer, error) {
	return ranking.Answer{Accepted: true}, nil
}

// SubmitExisting accepts the answer.
func (r Ranking) SubmitExisting(ctx context.Context, q ranking.Question, identity, key string, _ ...*once.Key) (ranking.Answer, error) {
	return r.Submit(ctx, q, identity, key)
}

// Board returns nothing.
func (Ranking) Board(context.Context, ranking.Question, ranking.Standing, int) (ranking.Board, error) {
	return ranking.Board{}, nil
}

// Config returns the default configuration.
func (Ranking) Config(context.Context, ranking.Question) (ranking.Config, contract.Status, bool, error) {
	return ranking.DefaultConfig(), contract.Active, true, nil
}

// Change does nothing.
func (Ranking) Change(context.Context, ranking.Question, ranking.Change, ...*once.Key) (string, error) {
	return "", nil
}

// Moderate does nothing.
func (Ranking) Moderate(context.Context, ranking.Question, ranking.Moderation) error { return nil }

// Clear does nothing.
func (Ranking) Clear(context.Context, ranking.Question) error { return nil }

// State implements the parts of [operation.State].
type State struct{}

// Read returns documents that were never written.
func (State) Read(_ context.Context, _ state.Caller, scopes ...state.Scope) ([]document.Document, error) {
	return make([]document.Document, len(scopes)), nil
}

// Write does nothing.
func (State) Write(context.Context, state.Caller, state.Scope, state.Edit) (document.Document, error) {
	return document.Document{Version: 1}, nil
}

// ReadViewers returns nothing.
func (State) ReadViewers(context.Context, state.Caller, []string) (map[string]document.Document, error) {
	return nil, nil
}

// WriteViewers does nothing.
func (State) WriteViewers(context.Context, state.Caller, map[string]state.Edit) error { return nil }

// ReadNamed returns an empty document.
func (State) ReadNamed(context.Context, state.Caller, string) (document.Document, error) {
	return document.Document{Version: 1, Body: []byte("{}")}, nil
}

// WriteNamed does nothing.
func (State) WriteNamed(context.Context, state.Caller, string, []byte, bool) error { return nil }

// VisualizationID returns a canned id.
func (State) VisualizationID(context.Context, state.Caller) (string, error) {
	return "AAAAAAAAAAAAAAAAAAAAAAAA", nil
}

// nothing is a store that keeps nothing.
type nothing struct{}

func (nothing) Append(context.Context, stream.Chunk) error { return nil }

func (nothing) Chunks(context.Context, string, uint64) iter.Seq2[stream.Chunk, error] {
	return func(func(stream.Chunk, error) bool) {}
}

func (nothing) Replace(context.Context, stream.Chunk, stream.Digest) error { return nil }

func (nothing) DeleteSnapshot(context.Context, string) error { return nil }

func (nothing) SaveSnapshot(context.Context, string, stream.Snapshot) error { return nil }

func (nothing) LoadSnapshot(context.Context, string) (s stream.Snapshot, ok bool, err error) {
	return s, false, nil
}
