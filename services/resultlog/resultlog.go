// Package resultlog is the domain of the log of results: one append-only list for all polls of a
// store whose votes can be checked. A leaf says what a poll's list of entries adds up to. Viewers and
// monitors follow the log by its signed checkpoints, so that every one of them gets the same results.
// api/verifiable/README.md specifies the leaves.
//
// The log is one stream. Its rules refuse a leaf that contradicts an earlier one: a smaller list, or
// one that does not continue the list that the log knows. A checkpoint is a pure function of the
// durable chunks, so that any number of processes may sign it.
//
// The package may not know HTTP, a database or a key, has no clock of its own and imports no other
// domain.
package resultlog

import (
	"context"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Kind is the first element of the stream's name.
const Kind = key.Log

// Report has the leaf that a poll's list is to get.
type Report struct {
	// Stream is the name of the poll's stream.
	Stream string `json:"stream"`
	// Leaf is of kind LogPoll, without At and Prev.
	Leaf verifiable.LogLeaf `json:"leaf"`
	// Consistency proves that the list continues the one that the log knows, nil where it knows none.
	Consistency tlog.TreeProof `json:"consistency,omitempty"`
	// Ended is the end of the poll's list before this one, nil where that is not known.
	Ended *verifiable.LogLeaf `json:"ended,omitempty"`
}

// Record has the newest leaf of a list.
type Record struct {
	Stream string `json:"stream"` // of the poll
	Index  int64  `json:"index"`  // of the newest leaf
	Data   []byte `json:"data"`   // of the leaf
	leaf   verifiable.LogLeaf
}

// Leaf returns the newest leaf.
func (r *Record) Leaf() verifiable.LogLeaf { return r.leaf }

// isUnfinished reports whether the list may get further leaves.
func (r *Record) isUnfinished() bool {
	return r.leaf.Status == verifiable.TreeOpen || r.leaf.Status == verifiable.TreeClosed && !r.leaf.Final
}

// Log is the log at one moment.
type Log struct {
	Origin string    // "" before it begins
	Tree   tlog.Tree // of the leaves
	Keys   []string  // verifier keys that leaves name
	// Since is the tree as it was at the size that [Service.ReadSince] was asked for, zero where that is
	// not in memory.
	Since tlog.Tree
}

// Service answers for the log of a store.
type Service struct {
	rewrite.Service
	engine *stream.Engine[*logState, logCommand, *leavesEntry, logAnswer]
}

// NewService returns a service over store. Close ends it.
func NewService(store stream.Store, clock stream.Clock, options stream.Options) *Service {
	engine := stream.New(logRules{}, store, clock, options)
	return &Service{rewrite.Service{Runner: engine, Rewriter: rewrite.New(engine, engine, store)}, engine}
}

// Begin begins the log under an origin in place of the one that was read, whose origin is old, "" for
// none. The new one's first leaf names it, and the polls have to be reported again. Where another
// process has begun one meanwhile, that stays.
func (s *Service) Begin(ctx context.Context, old, origin string) (Log, error) {
	return s.run(ctx, logCommand{Begin: origin, Old: old})
}

// HandOver adds a leaf that names a verifier key, which signs from then on, unless the log has it.
func (s *Service) HandOver(ctx context.Context, vkey string) (Log, error) {
	return s.run(ctx, logCommand{Key: vkey})
}

// Append adds a leaf for each report that says more than the log knows, at most maxReports. It
// returns a refusal for each report that contradicts the log, by its place.
func (s *Service) Append(ctx context.Context, reports []Report) (refusals map[int]string, err error) {
	answer, err := s.engine.DoFrom(ctx, stream.LevelVerifiable, key.ResultLog, logCommand{Reports: reports})
	return answer.Refusals, err
}

func (s *Service) run(ctx context.Context, c logCommand) (Log, error) {
	answer, err := s.engine.DoFrom(ctx, stream.LevelVerifiable, key.ResultLog, c)
	return answer.log(), err
}

// Read returns the log as it is.
func (s *Service) Read(ctx context.Context) (Log, error) { return s.ReadSince(ctx, 0) }

// ReadSince returns the log as it is, and its tree at an earlier size. That costs no look at the leaves
// while both sizes are within one tile.
func (s *Service) ReadSince(ctx context.Context, size int64) (Log, error) {
	answer, err := s.view(ctx, logCommand{Since: size})
	return answer.log(), err
}

// Find returns what the log knows of a list, and the log. The error is fault.NotFound where it knows
// nothing.
func (s *Service) Find(ctx context.Context, tree verifiable.TreeID) (*Record, Log, error) {
	answer, err := s.view(ctx, logCommand{Tree: &tree})
	if err == nil && answer.Record == nil {
		err = errUnknown
	}
	if err == nil {
		answer.Record.leaf, err = verifiable.ParseLogLeaf(answer.Record.Data)
	}
	return answer.Record, answer.log(), err
}

// Unfinished returns the names of the streams of up to maxListed polls whose lists may get further
// leaves, or that the log before this one had, after a name, in order.
func (s *Service) Unfinished(ctx context.Context, after string) ([]string, error) {
	answer, err := s.view(ctx, logCommand{Unfinished: true, After: after})
	return answer.Streams, err
}

// Tile returns the hashes of a tile above the lowest level.
func (s *Service) Tile(ctx context.Context, level int, n int64, width int) ([]tlog.Hash, error) {
	answer, err := s.view(ctx, logCommand{Tile: &tileRequest{level, n, width}})
	if err == nil && answer.Tile == nil {
		err = errUnknown
	}
	return answer.Tile, err
}

func (s *Service) view(ctx context.Context, c logCommand) (logAnswer, error) {
	answer, _, err := s.engine.ViewFrom(ctx, stream.LevelVerifiable, key.ResultLog, c)
	return answer, err
}

// errUnknown refuses what asks for leaves that the log has not got.
var errUnknown = fault.New(fault.NotFound, "The log has no such leaf")

const (
	// maxReports bounds the reports of one command.
	maxReports = 256
	// maxListed bounds a page of unfinished polls.
	maxListed = 1000
)
