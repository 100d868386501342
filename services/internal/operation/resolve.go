package operation

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/pairing"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// ResolveCaller returns the caller of a credential that can be revoked, as long as it is
// good, and any other caller unchanged.
func (s *Service) ResolveCaller(ctx context.Context, c *Caller) (*Caller, error) {
	if c.Role != Overlay && c.Role != StaffKey {
		return s.resolveFamily(ctx, c)
	}
	if s.Config.Pairing.Games == nil {
		return nil, unauthenticated(flaw("no keys are known here"))
	}
	resolved, err := *c, error(nil)
	if c.Role == Overlay {
		resolved.Key, err = s.Config.Pairing.Overlays.ResolveOverlayKey(ctx, c.pairingChannel(), c.KeyID, s.Config.Now())
	} else {
		err = s.resolveStaff(ctx, &resolved)
	}
	if fault.KindOf(err) == fault.Unauthenticated {
		err = unauthenticated(err)
	}
	if err != nil {
		return nil, err
	}
	return &resolved, nil
}

// resolveStaff gives a caller the rights of its staff key. A session has those of a rule of the
// registry, and ends with it.
func (s *Service) resolveStaff(ctx context.Context, c *Caller) (err error) {
	c.Staff, err = s.Config.Pairing.Staff.ResolveStaffKey(ctx, c.pairingChannel(), c.KeyID, s.Config.Now())
	if err != nil {
		return err
	}
	if c.Staff.Session && !c.Extension.SignIn.HasRule(c.Staff.Rule) {
		return flaw("the rule of the session is no longer in the registry")
	}
	c.Scopes = c.Staff.Scopes
	if c.Staff.Broadcaster {
		c.Role = Broadcaster
	}
	return nil
}

// resolveFamily returns the caller of a credential that hangs on the pairing of a game: a
// broadcaster of the channel that the game is paired with, as long as it is.
func (s *Service) resolveFamily(ctx context.Context, c *Caller) (*Caller, error) {
	if c.Family == "" {
		return c, nil
	}
	if s.Config.Pairing.Games == nil {
		return nil, unauthenticated(flaw("no pairings are known here"))
	}
	channel, err := s.resolvePairing(ctx, c)
	if fault.KindOf(err) == fault.Unauthenticated {
		err = unauthenticated(err)
	}
	if err != nil {
		return nil, err
	}
	if channel == c.ChannelID {
		return c, nil
	}
	paired := *c
	paired.ChannelID, paired.UserID, paired.OpaqueID = channel, channel, sandbox.UserOpaqueID(channel)
	return &paired, nil
}

// resolvePairing returns the channel of a caller's pairing. It looks for one that was refused
// once a second at most, as anyone gets tokens of pairings that no broadcaster confirms.
func (s *Service) resolvePairing(ctx context.Context, c *Caller) (string, error) {
	now := s.Config.Now()
	name := pairingName{string(c.Environment), c.Extension.ClientID, c.ChannelID, c.Family, c.Game}
	if until, ok := s.refusedPairings.Get(name); ok && now.Before(until) {
		return "", fault.New(fault.Unauthenticated, "The pairing has ended")
	}
	channel, err := s.Config.Pairing.Games.Resolve(ctx, c.pairingChannel(), pairing.Token{Family: c.Family, Game: c.Game}, c.Extension.KeyIDs(c.Environment, now))
	if fault.KindOf(err) == fault.Unauthenticated {
		s.refusedPairings.Add(name, now.Add(time.Second))
	}
	return channel, err
}

// pairingName names what a token hangs on.
type pairingName struct{ environment, extension, channel, family, game string }

// knownPairings is the number of refused pairings that a process remembers. The least recently
// used is dropped.
const knownPairings = 1 << 14

func newRefusedPairings() *lru.Cache[pairingName, time.Time] {
	refused, err := lru.New[pairingName, time.Time](knownPairings)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return refused
}
