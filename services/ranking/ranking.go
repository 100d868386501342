// Package ranking is the domain of free-text questions: the current answers of each
// identity, and the answers ranked by how many hold them (section 4.3).
//
// A question is one stream of answers, clearings, configurations and what staff decided
// about answers. Answers that count as one are a group. The package may not know
// HTTP or a database, has no clock of its own and imports no other domain.
package ranking

import (
	"context"
	"fmt"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Kind is the first element of the names of questions' streams; the environment
// is the second.
const Kind = key.Question

// Question names a question. An ID that begins with "global" is shared by the
// whole extension; any other belongs to the channel (section 2.1).
type Question struct {
	Environment, Extension, Channel, ID string
}

// StreamName returns the name of the question's stream.
func (q Question) StreamName() key.Name {
	name := key.Name{Kind: Kind, Environment: q.Environment, Extension: q.Extension, Scope: key.Global, ID: q.ID}
	if !strings.HasPrefix(q.ID, "global") {
		name.Scope, name.Channel = key.Channel, q.Channel
	}
	return name
}

// Stream returns the name of the question's stream as it is stored.
func (q Question) Stream() string { return q.StreamName().String() }

// QuestionOf returns the question whose stream has a name.
func QuestionOf(name key.Name) (Question, error) {
	q := Question{Environment: name.Environment, Extension: name.Extension, Channel: name.Channel, ID: name.ID}
	if q.StreamName() != name {
		return Question{}, fmt.Errorf("%+v is not the name of a question", name)
	}
	return q, nil
}

// ParseStream returns the question whose stream is stored under a name.
func ParseStream(stored string) (Question, error) {
	name, err := key.ParseExact(stored)
	if err != nil {
		return Question{}, err
	}
	return QuestionOf(name)
}

// Answer is the outcome of a submission. Original is the caller's answer that it replaced,
// nil when there was none or the new one was not accepted.
type Answer struct {
	Accepted bool
	Original *string
	// Held reports that the answer waits for staff.
	Held bool
	// Reason tells why the configuration does not accept the answer.
	Reason string
}

// Score is an answer, in the commonest spelling of its group, and the number of identities
// that hold it.
type Score struct {
	Key   string `json:"key"`
	Score int64  `json:"score"`
	// Group is the key of the group, empty where that is Key.
	Group string `json:"group,omitempty"`
	// Actor hid the group; absent of any other.
	Actor StaffActor `json:"actor,omitzero"`
}

// StaffActor is the caller that moderates.
type StaffActor struct {
	Role string `json:"role"`
	// ID is the user id or else the opaque id, empty for a caller without one.
	ID string `json:"id,omitempty"`
}

func (a StaffActor) size() int { return len(a.Role) + len(a.ID) }

// Board holds the best answers of a question.
type Board struct {
	Scores []Score
	// Schedule comes from the configuration, zero without one.
	contract.Schedule
	// Held is the number of answers, of groups, that wait for staff.
	Held int
	// Head is the number of the last chunk of the log.
	Head uint64
}

// Service answers for the questions of a store.
type Service struct {
	rewrite.Service
	engine *stream.Engine[*answerBoard, questionCommand, answerEntry, commandResult]
	clock  stream.Clock
}

// NewService returns a service over store. Close ends it.
func NewService(store stream.Store, clock stream.Clock, options stream.Options) *Service {
	options.AllowEqualTimestamps = true // times play no part here
	engine := stream.New(questionRules{}, store, clock, options)
	return &Service{rewrite.Service{Runner: engine, Rewriter: rewrite.New(engine, engine, store)}, engine, clock}
}

// Submit makes key the current answer of the identity. An answer that is too
// long is not accepted and changes nothing. keys has at most one element: the key of the
// request.
func (s *Service) Submit(ctx context.Context, q Question, identity, key string, keys ...*once.Key) (Answer, error) {
	return s.submit(ctx, q, questionCommand{answerEntry: answerEntry{identity: identity, key: key}}, keys)
}

// SubmitExisting is Submit for a question that has answers or a configuration. It refuses
// another one with fault.NotFound.
func (s *Service) SubmitExisting(ctx context.Context, q Question, identity, key string, keys ...*once.Key) (Answer, error) {
	return s.submit(ctx, q, questionCommand{answerEntry: answerEntry{identity: identity, key: key}, existing: true}, keys)
}

func (s *Service) submit(ctx context.Context, q Question, c questionCommand, keys []*once.Key) (Answer, error) {
	if c.identity == "" {
		return Answer{}, fault.New(fault.Invalid, "The JWT names no viewer")
	}
	if c.key == "" {
		return Answer{}, fault.New(fault.Invalid, "key must not be empty")
	}
	if len(c.key) > contract.MaxAnswer {
		return Answer{}, nil
	}
	answer, err := s.engine.Do(ctx, q.Stream(), c, keys...)
	return answer.Answer, err
}

// Board returns the answers of a standing with the highest scores, at most limit, and the head of
// the log that they reflect. Equal scores go by key.
func (s *Service) Board(ctx context.Context, q Question, standing Standing, limit int) (Board, error) {
	if limit < 1 || limit > contract.MaxRanking {
		return Board{}, fault.New(fault.Invalid, "Malformed limit parameter")
	}
	answer, head, err := s.engine.ViewAt(ctx, q.Stream(), questionCommand{top: limit, standing: standing})
	if err != nil {
		return Board{}, err
	}
	board := Board{Scores: answer.top, Held: answer.held, Head: head.Seq}
	if answer.config != nil {
		board.Schedule = answer.config.Schedule
	}
	return board, nil
}

// Clear removes every answer, and what staff decided about them; where there is none it does
// nothing.
func (s *Service) Clear(ctx context.Context, q Question) error {
	return s.store(ctx, q, answerEntry{kind: entryCleared})
}

// Configure saves a configuration, for later answers.
func (s *Service) Configure(ctx context.Context, q Question, c Config) error {
	return s.store(ctx, q, answerEntry{kind: entryConfigured, config: &c})
}

// Config returns the configuration and the status of the question; saved is false where the
// question has none.
func (s *Service) Config(ctx context.Context, q Question) (config Config, status contract.Status, saved bool, err error) {
	answer, err := s.engine.View(ctx, q.Stream(), questionCommand{asks: true})
	config = DefaultConfig()
	if saved = answer.config != nil; saved {
		config = *answer.config
	}
	return config, config.Status(s.clock.Now()), saved, err
}

// Moderation is a decision of staff about the answers of a group.
type Moderation struct {
	Action Action
	// Key names the group, or is an answer that belongs to it.
	Key string
	// Into names the group that Merge makes the answers count for.
	Into string
	// Actor is kept with the decision.
	Actor StaffActor
}

// Action is the kind of a moderation.
type Action string

// The actions of staff (section 4.3).
const (
	Show  Action = "show"
	Hide  Action = "hide"
	Merge Action = "merge"
)

// Moderate applies a decision of staff.
func (s *Service) Moderate(ctx context.Context, q Question, m Moderation) error {
	e := answerEntry{key: m.Key, actor: m.Actor}
	switch m.Action {
	case Show:
		e.kind = entryShown
	case Hide:
		e.kind = entryHidden
	case Merge:
		e.kind, e.group = entryMerged, m.Into
	default:
		return fault.New(fault.Invalid, "action must be show, hide or merge")
	}
	if (m.Into != "") != (m.Action == Merge) {
		return fault.New(fault.Invalid, "into goes with merge")
	}
	if m.Key == "" || len(m.Key) > contract.MaxAnswer || len(m.Into) > contract.MaxAnswer {
		return errModeration()
	}
	return s.store(ctx, q, e)
}

func (s *Service) store(ctx context.Context, q Question, e answerEntry) error {
	_, err := s.engine.Do(ctx, q.Stream(), questionCommand{answerEntry: e})
	return err
}
