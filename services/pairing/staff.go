package pairing

import (
	"context"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// StaffLifetime is the longest validity of a staff key, and that of one without an expiry.
const StaffLifetime = contract.MaxStaffDays * 24 * time.Hour

// StaffKey is a credential with which a moderator works for a channel. Like an overlay key it is a
// token that is stored nowhere: its id in the document of the channel makes it good.
type StaffKey struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Scopes limit the holder's rights: [contract.ScopePolls], [contract.ScopeAnswers].
	Scopes []string `json:"scopes"`

	Created int64 `json:"created"` // Unix seconds
	Expires int64 `json:"expires"` // Unix seconds
}

func (k StaffKey) identity() string { return k.ID }

func (k StaffKey) isOver(now time.Time) bool { return k.Expires <= now.Unix() }

// Lifetime returns how long the key is good.
func (k StaffKey) Lifetime(now time.Time) time.Duration { return time.Unix(k.Expires, 0).Sub(now) }

func (k StaffKey) check(now time.Time) error {
	known := []string{contract.ScopePolls, contract.ScopeAnswers}
	unknown := func(scope string) bool { return !slices.Contains(known, scope) }
	switch {
	case k.Name == "" || len(k.Name) > contract.MaxStaffName:
		return fault.Newf(fault.Invalid, "name must have 1 to %d bytes", contract.MaxStaffName)
	case len(k.Scopes) == 0 || len(k.Scopes) > len(known) || slices.ContainsFunc(k.Scopes, unknown):
		return fault.New(fault.Invalid, "scopes must be polls, answers or both")
	case k.isOver(now) || k.Expires > now.Add(StaffLifetime).Unix():
		return fault.Newf(fault.Invalid, "expires must be within the next %d days", contract.MaxStaffDays)
	}
	return nil
}

func (c Channel) staff() string { return c.name(key.StaffKeys, c.ID, "") }

// AddStaffKey puts a key in force.
func (s *Service) AddStaffKey(ctx context.Context, c Channel, k StaffKey, now time.Time) error {
	if err := k.check(now); err != nil {
		return err
	}
	if s.allRead != nil && !s.allRead() {
		return fault.New(fault.Unavailable, "Staff keys wait for processes of an earlier version")
	}
	return addKey(ctx, s, c.staff(), k, now, func(held int) error {
		if held >= contract.MaxStaffKeys {
			return fault.Newf(fault.Invalid, "A channel has at most %d staff keys", contract.MaxStaffKeys)
		}
		return nil
	})
}

// StaffKeys returns the keys of a channel that are in force, the oldest first.
func (s *Service) StaffKeys(ctx context.Context, c Channel, now time.Time) ([]StaffKey, error) {
	return listKeys[StaffKey](ctx, s, c.staff(), now)
}

// RevokeStaffKey ends a key. One that does not exist is fault.NotFound.
func (s *Service) RevokeStaffKey(ctx context.Context, c Channel, id string) error {
	return revokeKey[StaffKey](ctx, s, c.staff(), id, "No such staff key")
}

// ResolveStaffKey returns a key that is in force. Any other is fault.Unauthenticated.
func (s *Service) ResolveStaffKey(ctx context.Context, c Channel, id string, now time.Time) (StaffKey, error) {
	return resolveKey[StaffKey](ctx, s, c.staff(), id, now, "The staff key was revoked or has expired")
}
