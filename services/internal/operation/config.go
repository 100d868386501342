package operation

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/tracing"
	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/signin"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/pairing"
	"github.com/acclaim-dev/acclaim/services/picture"
	"github.com/acclaim-dev/acclaim/services/purchase"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/roster"
	"github.com/acclaim-dev/acclaim/services/sandbox"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Voting is package voting as its routes use it. The zero Voting has no polls.
type Voting struct {
	Votes   VoteCaster
	Tallies TallyReader
	Configs PollConfigurer
	Logs    VoteLogReader
}

// NewVoting returns the parts of a service.
func NewVoting(s *voting.Service) Voting { return Voting{s, s, s, s} }

// VoteCaster changes the votes of polls.
type VoteCaster interface {
	Cast(ctx context.Context, p voting.Poll, v voting.Submission, existing bool, keys ...*once.Key) (voting.Tally, error)
	VoteAll(ctx context.Context, p voting.Poll, votes []voting.Submission, existing bool, whole *once.Key) (voting.Verdicts, error)
	Modify(ctx context.Context, p voting.Poll, user string, add int64, keys ...*once.Key) error
	Reset(ctx context.Context, p voting.Poll) error
	ClearVotes(ctx context.Context, p voting.Poll, c voting.Change, keys ...*once.Key) error
}

// TallyReader reads what the votes of polls add up to, and added up to before.
type TallyReader interface {
	Tally(ctx context.Context, p voting.Poll, v voting.Voter) (voting.Tally, error)
	TallyWithDevices(ctx context.Context, p voting.Poll, v voting.Voter) (voting.Tally, error)
	TallyAt(ctx context.Context, p voting.Poll, v voting.Voter, viewer bool, at int64, hold voting.MemoryHold) (voting.Tally, error)
	History(ctx context.Context, p voting.Poll, v voting.Voter, viewer bool, r voting.HistoryRange, hold voting.MemoryHold) (voting.History, error)
	HidesPast(ctx context.Context, p voting.Poll, v voting.Voter, viewer bool) (hidden bool, resets uint64, err error)
}

// PollConfigurer reads and changes the configurations of polls.
type PollConfigurer interface {
	Config(ctx context.Context, p voting.Poll) (voting.Config, contract.Status, bool, error)
	ConfigFor(ctx context.Context, p voting.Poll, v voting.Voter) (config voting.Config, status contract.Status, saved bool, cast int64, err error)
	Change(ctx context.Context, p voting.Poll, c voting.Change, keys ...*once.Key) (version int64, known bool, err error)
	Overview(ctx context.Context, p voting.Poll) (voting.Overview, error)
	PublicOverview(ctx context.Context, p voting.Poll, visit bool) (voting.Overview, error)
	Conclude(ctx context.Context, p voting.Poll, now time.Time) (voting.Overview, error)
}

// VoteLogReader reads the logs of polls.
type VoteLogReader interface {
	Log(ctx context.Context, p voting.Poll, after voting.Cursor) iter.Seq2[voting.LogRecord, error]
	LogWithConfigs(ctx context.Context, p voting.Poll, after voting.Cursor) iter.Seq2[voting.LogRecord, error]
}

// Accumulation is the part of package accumulation that its routes use.
type Accumulation interface {
	Append(ctx context.Context, b accumulation.Buffer, s accumulation.Submission, keys ...*once.Key) error
	AppendExisting(ctx context.Context, b accumulation.Buffer, s accumulation.Submission, keys ...*once.Key) error
	Clear(ctx context.Context, b accumulation.Buffer) error
	Entries(ctx context.Context, b accumulation.Buffer, start int64, channel *string) iter.Seq2[accumulation.Entry, error]
}

// Ranking is package ranking as its routes use it. The zero Ranking has no questions.
type Ranking struct {
	Answers AnswerRanker
	Configs QuestionConfigurer
}

// NewRanking returns the parts of a service.
func NewRanking(s *ranking.Service) Ranking { return Ranking{s, s} }

// AnswerRanker takes answers and ranks them.
type AnswerRanker interface {
	Submit(ctx context.Context, q ranking.Question, identity, key string, keys ...*once.Key) (ranking.Answer, error)
	SubmitExisting(ctx context.Context, q ranking.Question, identity, key string, keys ...*once.Key) (ranking.Answer, error)
	Board(ctx context.Context, q ranking.Question, standing ranking.Standing, limit int) (ranking.Board, error)
	Moderate(ctx context.Context, q ranking.Question, m ranking.Moderation) error
	Clear(ctx context.Context, q ranking.Question) error
}

// QuestionConfigurer reads and changes the configurations of questions.
type QuestionConfigurer interface {
	Config(ctx context.Context, q ranking.Question) (ranking.Config, contract.Status, bool, error)
	Change(ctx context.Context, q ranking.Question, c ranking.Change, keys ...*once.Key) (digest string, err error)
}

// State is package state as the routes of state and configuration and of stored documents use
// it. The zero State has no documents.
type State struct {
	Scopes ScopeEditor
	Named  NamedEditor
}

// NewState returns the parts of a service.
func NewState(s *state.Service) State { return State{s, s} }

// ScopeEditor reads and writes the documents of scopes.
type ScopeEditor interface {
	Read(ctx context.Context, c state.Caller, scopes ...state.Scope) ([]document.Document, error)
	Write(ctx context.Context, c state.Caller, scope state.Scope, e state.Edit) (document.Document, error)
	ReadViewers(ctx context.Context, c state.Caller, userIDs []string) (map[string]document.Document, error)
	WriteViewers(ctx context.Context, c state.Caller, edits map[string]state.Edit) error
	VisualizationID(ctx context.Context, c state.Caller) (string, error)
}

// NamedEditor reads and writes the documents with names.
type NamedEditor interface {
	ReadNamed(ctx context.Context, c state.Caller, id string) (document.Document, error)
	WriteNamed(ctx context.Context, c state.Caller, id string, body []byte, existing bool) error
}

// Live accepts subscriptions to events.
type Live interface {
	Subscribe(ctx context.Context, s live.Subscription) (*live.Subscriber, error)
}

// Messages is the part of package message that its routes use.
type Messages interface {
	Publish(ctx context.Context, f message.Feed, m message.Message, keys ...*once.Key) error
	// Announce publishes an event of the service itself.
	Announce(ctx context.Context, f message.Feed, m message.Message, keys ...*once.Key) error
}

// Sandbox is the part of package sandbox that POST /authtoken uses.
type Sandbox interface {
	Tokens(r sandbox.Request) ([]string, error)
}

// Pairing is package pairing as credentials and routes use it. The zero Pairing knows no
// credentials.
type Pairing struct {
	PINs     GamePairer
	Games    GameKeeper
	Overlays OverlayKeeper
	Staff    StaffKeeper
	// SignIn asks issuers who has signed in; nil: there is no sign-in.
	SignIn SignIn
}

// NewPairing returns the parts of a service.
func NewPairing(s *pairing.Service) Pairing { return Pairing{PINs: s, Games: s, Overlays: s, Staff: s} }

// GamePairer gives games PINs, by which a streamer pairs them with a channel.
type GamePairer interface {
	CreatePIN(ctx context.Context, c pairing.Channel, by pairing.Request, now time.Time) (pin string, err error)
	OpenGame(ctx context.Context, o pairing.Owner, from string, now time.Time) (pin, family string, err error)
	ConfirmPIN(ctx context.Context, c pairing.Channel, pin, key string, now time.Time) (family string, err error)
}

// GameKeeper knows the games of a channel.
type GameKeeper interface {
	Games(ctx context.Context, c pairing.Channel, now time.Time) ([]pairing.Game, error)
	EndGame(ctx context.Context, c pairing.Channel, id string, now time.Time) error
	Exists(ctx context.Context, c pairing.Channel, now time.Time) (bool, error)
	Revoke(ctx context.Context, c pairing.Channel) error
	Resolve(ctx context.Context, c pairing.Channel, t pairing.Token, keys []string) (channel string, err error)
}

// OverlayKeeper knows the overlay keys of a channel.
type OverlayKeeper interface {
	AddOverlayKey(ctx context.Context, c pairing.Channel, k pairing.OverlayKey, now time.Time) error
	OverlayKeys(ctx context.Context, c pairing.Channel, now time.Time) ([]pairing.OverlayKey, error)
	RevokeOverlayKey(ctx context.Context, c pairing.Channel, id string) error
	ResolveOverlayKey(ctx context.Context, c pairing.Channel, id string, now time.Time) (pairing.OverlayKey, error)
}

// StaffKeeper knows the staff keys of a channel.
type StaffKeeper interface {
	AddStaffKey(ctx context.Context, c pairing.Channel, k pairing.StaffKey, now time.Time) error
	StaffKeys(ctx context.Context, c pairing.Channel, now time.Time) ([]pairing.StaffKey, error)
	RevokeStaffKey(ctx context.Context, c pairing.Channel, id string) error
	ResolveStaffKey(ctx context.Context, c pairing.Channel, id string, now time.Time) (pairing.StaffKey, error)
	BeginSession(ctx context.Context, c pairing.Channel, k pairing.StaffKey, now time.Time) (pairing.StaffKey, error)
	ExtendSession(ctx context.Context, c pairing.Channel, id string, now time.Time) error
}

// SignIn is the part of package signin that its routes use.
type SignIn interface {
	Begin(ctx context.Context, i signin.Issuer) (address string, flow signin.Flow, err error)
	Finish(ctx context.Context, i signin.Issuer, flow signin.Flow, state, code string) (claims signin.Claims, token string, err error)
	BeginDevice(ctx context.Context, i signin.Issuer) (signin.DeviceFlow, error)
	FinishDevice(ctx context.Context, i signin.Issuer, deviceCode string) (signin.Claims, error)
}

// ViewerVerifier is the part of package signin that verifies tokens of viewers of issuers.
type ViewerVerifier interface {
	Verify(issuer, audience, token string) (subject string, expires time.Time, err error)
}

// Roster is the part of package roster that its route uses.
type Roster interface {
	Note(ctx context.Context, r roster.Roster, userID string, shared bool) error
	List(ctx context.Context, r roster.Roster, from uint64) (roster.Page, error)
}

// Purchases is the part of package purchase that its routes use.
type Purchases interface {
	Record(ctx context.Context, c purchase.Channel, t purchase.Transaction) (recorded purchase.Transaction, isNew bool, err error)
	Spend(ctx context.Context, c purchase.Channel, o purchase.Order, now time.Time) (purchase.Receipt, error)
	Balance(ctx context.Context, c purchase.Channel, userID string) (int64, error)
}

// Pictures is the part of package picture that its routes use.
type Pictures interface {
	Add(ctx context.Context, c picture.Channel, i *picture.Image, now time.Time) (contract.Picture, error)
	List(ctx context.Context, c picture.Channel) ([]contract.Picture, error)
	Remove(ctx context.Context, c picture.Channel, id string) error
	Read(ctx context.Context, c picture.Channel, id string) ([]byte, error)
}

// PollLister yields the names of the streams that begin with a prefix and come after a
// name, ascending: at least those that had a chunk before the call.
type PollLister func(ctx context.Context, prefix, after string) iter.Seq2[string, error]

// Metrics observes finished calls. traceID is that of a sampled one, else "".
type Metrics interface {
	Observe(route, method string, status int, took time.Duration, traceID string)
}

// Config has what operations need. Those of a service that is nil are not served.
type Config struct {
	Environment tenant.Environment
	// Registry returns the extensions as they are now.
	Registry     func() *tenant.Registry
	Now          func() time.Time
	Logger       *slog.Logger
	LogRequests  RequestLog
	Metrics      Metrics
	Tracing      *tracing.Tracing // nil: off
	Voting       Voting
	PollLister   PollLister // the routes that show polls need it and Voting
	Results      ResultPublisher
	Pictures     Pictures // its routes need Voting, too
	Accumulation Accumulation
	Ranking      Ranking
	State        State
	Live         Live
	Messages     Messages
	Sandbox      Sandbox
	Viewers      ViewerVerifier // nil: no viewers of issuers are known
	Pairing      Pairing        // without it, no credential of a game is valid
	GameLink     bool           // games are served, here or by another process
	Roster       Roster         // nil: viewers are not noted
	Purchases    Purchases      // its routes need State and Messages, too
	// Budgets bound what requests hold; nil stands for defaults that nothing shares.
	Budgets *Budgets
	// Processes returns the number of live processes that share the store, this one
	// included; nil where it is alone.
	Processes func() int
	// StorageLow reports whether the disk has so little room left that viewers' writes are
	// refused; nil where the store does not know.
	StorageLow func() bool
	// Ledger counts what callers do and bring into being; nil stands for one of these operations alone.
	Ledger *limit.Ledger
}
