package operation

import (
	"context"
	"errors"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/roster"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// The rates of sandbox tokens, which anyone may ask for: of one client address, where it
// is known, and in all. 1,000 tokens take some 9 ms of a processor.
func tokensOfAddress() limit.Rate { return limit.Rate{PerSecond: 50, Burst: 2_000} }
func tokensInAll() limit.Rate     { return limit.Rate{PerSecond: 2_000, Burst: 20_000} }

// DecodeTokenRequest returns the request for tokens in a body.
func DecodeTokenRequest(in *Object) sandbox.Request {
	return sandbox.Request{
		ExtensionID: in.Text("extension_id"),
		AppID:       in.Text("app_id"),
		ChannelID:   in.Text("channel_id"),
		UserID:      in.Text("user_id"),
		Role:        in.Text("role"),
		UserIDs:     in.Texts("user_ids"),
	}
}

// IssueSandboxTokens returns tokens of the sandbox (section 4.6).
func (s *Service) IssueSandboxTokens(c *Call, r sandbox.Request) ([]string, error) {
	who, count := limit.Caller{Environment: string(s.Config.Environment)}, int64(max(len(r.UserIDs), 1))
	err := s.admitAddress(c, who, limit.Tokens, tokensOfAddress(), tokensInAll(), count)
	if refusal, ok := errors.AsType[*limit.Refusal](err); ok && refusal.Scope == limit.Address {
		return nil, limit.Fault(err, "Too many tokens for this address; nothing was stored")
	}
	if err != nil {
		return nil, err
	}
	return s.Config.Sandbox.Tokens(r)
}

// ReadSession notes the caller and returns the id that its shows share.
func (s *Service) ReadSession(ctx context.Context, c *Call) (visualizationID string, err error) {
	id, err := s.Config.State.Scopes.VisualizationID(ctx, c.Caller.stateCaller())
	if err == nil {
		err = s.noteCaller(ctx, c.Caller)
	}
	return id, err
}

func (c *Caller) roster() roster.Roster {
	return roster.Roster{Environment: string(c.Environment), Extension: c.Extension.ClientID}
}

// ListUserIDs returns a page of the viewers that share their user id.
func (s *Service) ListUserIDs(ctx context.Context, c *Call, from uint64) (roster.Page, error) {
	return s.Config.Roster.List(ctx, c.Caller.roster(), from)
}

// limitedViewers is the number of viewers that an environment does not note again with each
// request. One takes some 200 bytes.
const limitedViewers = 1 << 15

// notedViewers remembers which viewers have been noted, and as what.
type notedViewers struct {
	shared *lru.Cache[notedViewer, bool]
}

type notedViewer struct{ extension, userID string }

func newNotedViewers() *notedViewers {
	shared, err := lru.New[notedViewer, bool](limitedViewers)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return &notedViewers{shared}
}

// NoteViewer notes the caller of a request that succeeds, unless it has been noted. The request is
// answered whether or not that works: the next one repeats it.
func (s *Service) NoteViewer(ctx context.Context, c *Caller) {
	if s.Config.Roster == nil || c == nil || c.UserID == "" || c.Role == "" {
		return
	}
	if shared, known := s.noted.shared.Get(notedViewer{c.Extension.ClientID, c.UserID}); known && shared == !c.Unlinked {
		return
	}
	if err := s.noteCaller(ctx, c); err != nil {
		s.Config.Logger.Warn("a viewer was not noted; the next request repeats it", "error", err)
	}
}

// noteCaller notes the caller, whatever this process remembers: another may have noted
// something else.
func (s *Service) noteCaller(ctx context.Context, c *Caller) error {
	if s.Config.Roster == nil || c.UserID == "" {
		return nil
	}
	err := s.Config.Roster.Note(ctx, c.roster(), c.UserID, !c.Unlinked)
	if err == nil {
		s.noted.shared.Add(notedViewer{c.Extension.ClientID, c.UserID}, !c.Unlinked)
	}
	return err
}
