// Package ranking is the domain of free-text questions: one current answer for
// each identity, and the answers ranked by how many hold them (section 4.3).
//
// A question is one stream of answers and clearings. The package may not know
// HTTP or a database, has no clock of its own and imports no other domain.
package ranking

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// Kind is the first element of the names of questions' streams; the environment
// is the second.
const Kind = "rank"

// Question names a question. An ID that begins with "global" is shared by the
// whole extension; any other belongs to the channel (section 2.1).
type Question struct {
	Environment, Extension, Channel, ID string
}

// Stream returns the name of the question's stream.
func (q Question) Stream() string {
	if strings.HasPrefix(q.ID, "global") {
		return key.Join(Kind, q.Environment, q.Extension, "global", q.ID)
	}
	return key.Join(Kind, q.Environment, q.Extension, "channel", q.Channel, q.ID)
}

// Answer is what became of a submitted answer. Original is the caller's answer
// before it, nil when there was none or the new one was not accepted.
type Answer struct {
	Accepted bool
	Original *string
}

// Score is an answer and the number of identities whose current answer it is.
type Score struct {
	Key   string
	Score int64
}

// Bounds of a question.
const (
	maxKey   = 256 // bytes of an answer that is accepted
	MaxLimit = 10_000
)

// Service answers for the questions of a store.
type Service struct {
	engine *stream.Engine[*board, command, entry, result]
}

// NewService returns a service over store. Close ends it.
func NewService(store stream.Store, clock stream.Clock, options stream.Options) *Service {
	options.Ties = true // times play no part here
	return &Service{engine: stream.New(rules{}, store, clock, options)}
}

// Submit makes key the current answer of the identity. An answer that is too
// long is not accepted and changes nothing.
func (s *Service) Submit(ctx context.Context, q Question, identity, key string) (Answer, error) {
	if identity == "" {
		return Answer{}, fault.New(fault.Invalid, "The JWT names no viewer")
	}
	if key == "" {
		return Answer{}, fault.New(fault.Invalid, "key must not be empty")
	}
	if len(key) > maxKey {
		return Answer{}, nil
	}
	answer, err := s.engine.Do(ctx, q.Stream(), command{entry: entry{identity: identity, key: key}})
	return answer.Answer, err
}

// Top returns the answers with the highest scores, by score descending and then
// by key ascending, bytewise; limit is from 1 to MaxLimit.
func (s *Service) Top(ctx context.Context, q Question, limit int) ([]Score, error) {
	if limit < 1 || limit > MaxLimit {
		return nil, fault.New(fault.Invalid, "Malformed limit parameter")
	}
	answer, err := s.engine.View(ctx, q.Stream(), command{top: limit})
	return answer.top, err
}

// All is Top without a limit, for a service without Options.Peers.
func (s *Service) All(ctx context.Context, q Question) ([]Score, error) {
	answer, err := s.engine.View(ctx, q.Stream(), command{top: math.MaxInt})
	return answer.top, err
}

// Clear removes every answer; where there is none it does nothing.
func (s *Service) Clear(ctx context.Context, q Question) error {
	_, err := s.engine.Do(ctx, q.Stream(), command{entry: entry{clear: true}})
	return err
}

// Serve answers what another process passed on with Options.Peers.
func (s *Service) Serve(ctx context.Context, request []byte) ([]byte, error) {
	return s.engine.Serve(ctx, request)
}

// Verify replays the stream with that name and compares it with its snapshot.
// [stream.ErrDamaged] says that it is not sound.
func (s *Service) Verify(ctx context.Context, name string) (stream.Report, error) {
	return s.engine.Verify(ctx, name, (*board).equal)
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
