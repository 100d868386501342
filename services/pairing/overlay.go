package pairing

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// OverlayLifetime is the longest validity of an overlay key, and that of one without an
// expiry.
const OverlayLifetime = contract.MaxOverlayYears * 365 * 24 * time.Hour

// OverlayKey is a credential for broadcast software. The text that its holder sends is a
// token, which is stored nowhere: the key's id in the document of the channel makes it good.
type OverlayKey struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Polls are the ids of the polls that the key shows; nil: all of the channel, or none
	// where it shows questions.
	Polls []string `json:"polls,omitempty"`
	// Questions are the ids of the questions whose visible answers the key shows; nil: none.
	Questions []string `json:"questions,omitempty"`

	Created int64 `json:"created"`           // Unix seconds
	Expires int64 `json:"expires,omitempty"` // Unix seconds; 0: never
}

func (k OverlayKey) identity() string { return k.ID }

func (k OverlayKey) isOver(now time.Time) bool { return k.Expires != 0 && k.Expires <= now.Unix() }

// Shows reports whether the key is good for a poll.
func (k OverlayKey) Shows(poll string) bool {
	return k.ShowsAllPolls() || slices.Contains(k.Polls, poll)
}

// ShowsAllPolls reports whether the key is good for every poll.
func (k OverlayKey) ShowsAllPolls() bool { return k.Polls == nil && k.Questions == nil }

// ShowsQuestion reports whether the key is good for the visible answers to a question.
func (k OverlayKey) ShowsQuestion(id string) bool { return slices.Contains(k.Questions, id) }

// Lifetime returns how long the key is good.
func (k OverlayKey) Lifetime(now time.Time) time.Duration {
	if k.Expires == 0 {
		return OverlayLifetime
	}
	return time.Unix(k.Expires, 0).Sub(now)
}

func (k OverlayKey) check(now time.Time) error {
	if err := cmp.Or(checkShown("polls", k.Polls), checkShown("questions", k.Questions)); err != nil {
		return err
	}
	switch {
	case len(k.Name) > contract.MaxOverlayName:
		return fault.Newf(fault.Invalid, "name must be at most %d bytes", contract.MaxOverlayName)
	case k.isOver(now) || k.Expires > now.Add(OverlayLifetime).Unix():
		return fault.Newf(fault.Invalid, "expires must be within the next %d years", contract.MaxOverlayYears)
	}
	return nil
}

// checkShown returns why the key may not show what a member of its creation lists, or nil.
func checkShown(member string, ids []string) error {
	bad := func(id string) bool { return id == "" || len(id) > contract.MaxID || strings.Contains(id, "*") }
	switch {
	case ids != nil && (len(ids) == 0 || len(ids) > contract.MaxOverlayPolls):
		return fault.Newf(fault.Invalid, "%s must have 1 to %d ids", member, contract.MaxOverlayPolls)
	case slices.ContainsFunc(ids, bad):
		return fault.New(fault.Invalid, "Invalid id")
	}
	return nil
}

// NewKeyID returns the id of a new key of either kind.
func NewKeyID() string { return newSecret() }

func (c Channel) overlays() string { return c.name(key.OverlayKeys, c.ID, "") }

// AddOverlayKey puts a key in force.
func (s *Service) AddOverlayKey(ctx context.Context, c Channel, k OverlayKey, now time.Time) error {
	if err := k.check(now); err != nil {
		return err
	}
	return addKey(ctx, s, c.overlays(), k, now, func(held []OverlayKey) error {
		if len(held) >= contract.MaxOverlayKeys {
			return fault.Newf(fault.Invalid, "A channel has at most %d overlay keys", contract.MaxOverlayKeys)
		}
		return nil
	})
}

// OverlayKeys returns the keys of a channel that are in force, the oldest first.
func (s *Service) OverlayKeys(ctx context.Context, c Channel, now time.Time) ([]OverlayKey, error) {
	return listKeys[OverlayKey](ctx, s, c.overlays(), now)
}

// RevokeOverlayKey ends a key. One that does not exist is fault.NotFound.
func (s *Service) RevokeOverlayKey(ctx context.Context, c Channel, id string) error {
	return revokeKey[OverlayKey](ctx, s, c.overlays(), id, "No such overlay key")
}

// ResolveOverlayKey returns a key that is in force. Any other is fault.Unauthenticated.
func (s *Service) ResolveOverlayKey(ctx context.Context, c Channel, id string, now time.Time) (OverlayKey, error) {
	return resolveKey[OverlayKey](ctx, s, c.overlays(), id, now, "The overlay key was revoked or has expired")
}
