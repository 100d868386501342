package operation

import (
	"context"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/pairing"
)

// StaffSession tells a person who has signed in what the credential is good for.
type StaffSession struct {
	Role    string   `json:"role"`
	Channel string   `json:"channel"`
	Scopes  []string `json:"scopes"`
	// Extension is the client id.
	Extension string `json:"extension"`
	Name      string `json:"name,omitempty"`
	Expires   int64  `json:"expires,omitempty"` // Unix seconds, of a staff key
}

// extendAfter is the time after which the use of a session extends it.
const extendAfter = 5 * time.Minute

// ReadStaffSession returns what the caller may do as staff, and extends the caller's session.
func (s *Service) ReadStaffSession(ctx context.Context, c *Call) (StaffSession, error) {
	if k, now := c.Caller.Staff, s.Config.Now(); k.Session && k.Lifetime(now) < pairing.SessionIdle-extendAfter {
		if err := s.Config.Pairing.Staff.ExtendSession(ctx, c.Caller.pairingChannel(), k.ID, now); err != nil {
			return StaffSession{}, err
		}
	}
	return c.staffSession(), nil
}

func (c *Call) staffSession() StaffSession {
	caller := c.Caller
	session := StaffSession{
		Role: caller.roleName(), Channel: caller.ChannelID, Scopes: caller.Scopes, Extension: caller.Extension.ClientID,
		Name: caller.Staff.Name, Expires: caller.Staff.Expires,
	}
	if caller.IsStaff() {
		session.Scopes = []string{contract.ScopePolls, contract.ScopeAnswers}
	}
	return session
}

// CreateStaffKey adds a key to the caller's channel and returns it with its credential. The time of
// its end is the longest one where the key has none.
func (s *Service) CreateStaffKey(ctx context.Context, c *Call, key pairing.StaffKey) (made pairing.StaffKey, credential string, err error) {
	now := s.Config.Now()
	key.ID, key.Created = pairing.NewKeyID(), now.Unix()
	if key.Expires == 0 {
		key.Expires = now.Add(pairing.StaffLifetime).Truncate(time.Second).Unix()
	}
	if err := s.Config.Pairing.Staff.AddStaffKey(ctx, c.Caller.pairingChannel(), key, now); err != nil {
		return key, "", err
	}
	credential, err = s.signKey(c.Caller, StaffKey, "staff-", key.ID, key.Lifetime(now))
	return key, credential, err
}

// ListStaffKeys returns the keys of the caller's channel, without their credentials.
func (s *Service) ListStaffKeys(ctx context.Context, c *Call) ([]pairing.StaffKey, error) {
	return s.Config.Pairing.Staff.StaffKeys(ctx, c.Caller.pairingChannel(), s.Config.Now())
}

// RevokeStaffKey removes a key of the caller's channel.
func (s *Service) RevokeStaffKey(ctx context.Context, c *Call, id string) error {
	return s.Config.Pairing.Staff.RevokeStaffKey(ctx, c.Caller.pairingChannel(), id)
}
