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
	// Broadcaster reports that the holder has the rights of the broadcaster. Sessions alone do.
	Broadcaster bool `json:"broadcaster,omitempty"`
	// Rule names the rule of the registry that a session hangs on.
	Rule string `json:"rule,omitempty"`
	// Session reports that the key is a session of a person who has signed in. Its use extends it, until
	// Ends.
	Session bool  `json:"session,omitempty"`
	Ends    int64 `json:"ends,omitempty"` // Unix seconds

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
	if err := s.checkRead(); err != nil {
		return err
	}
	return addKey(ctx, s, c.staff(), k, now, func(held []StaffKey) error {
		if len(held)-countSessions(held) >= contract.MaxStaffKeys {
			return fault.Newf(fault.Invalid, "A channel has at most %d staff keys", contract.MaxStaffKeys)
		}
		return nil
	})
}

// checkRead refuses keys that a process of an earlier version would not read.
func (s *Service) checkRead() error {
	if s.allRead != nil && !s.allRead() {
		return fault.New(fault.Unavailable, "Staff keys wait for processes of an earlier version")
	}
	return nil
}

// The times of a session: how long one lasts that is not used, and how long one lasts at most.
const (
	SessionIdle     = 30 * time.Minute
	SessionLifetime = 12 * time.Hour
)

// maxSessions limits the sessions of a channel. A further one ends the oldest.
const maxSessions = 50

// BeginSession puts a session in force.
func (s *Service) BeginSession(ctx context.Context, c Channel, k StaffKey, now time.Time) (StaffKey, error) {
	if err := s.checkRead(); err != nil {
		return k, err
	}
	k.ID, k.Session, k.Created = NewKeyID(), true, now.Unix()
	k.Expires, k.Ends = now.Add(SessionIdle).Unix(), now.Add(SessionLifetime).Unix()
	err := edit(ctx, s, c.staff(), func(r *keyRecord[StaffKey]) error {
		r.Keys = slices.DeleteFunc(r.Keys, func(k StaffKey) bool { return k.isOver(now) })
		if sessions := countSessions(r.Keys); sessions >= maxSessions {
			oldest := slices.IndexFunc(r.Keys, func(k StaffKey) bool { return k.Session })
			r.Keys = slices.Delete(r.Keys, oldest, oldest+1)
		}
		r.Keys = append(r.Keys, k)
		return nil
	})
	return k, err
}

func countSessions(keys []StaffKey) (n int) {
	for _, k := range keys {
		if k.Session {
			n++
		}
	}
	return n
}

// ExtendSession has a session that is used last longer. One that is over stays so.
func (s *Service) ExtendSession(ctx context.Context, c Channel, id string, now time.Time) error {
	return edit(ctx, s, c.staff(), func(r *keyRecord[StaffKey]) error {
		for i, k := range r.Keys {
			if k.ID == id && k.Session && !k.isOver(now) {
				r.Keys[i].Expires = min(now.Add(SessionIdle).Unix(), k.Ends)
			}
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
