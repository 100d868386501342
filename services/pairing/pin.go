package pairing

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/key"
)

// pinIndex is the document that leads from a PIN to its channel. The channel's document
// decides whether the PIN is good.
type pinIndex struct {
	Channel string `json:"channel"`
}

// openPairings is the document of the PINs that games of an extension show.
type openPairings struct {
	PINs []pinRecord `json:"pins"`
}

// confirmedGame is the document of a game whose PIN a broadcaster has confirmed.
type confirmedGame struct {
	Channel string `json:"channel"`
	Epoch   uint64 `json:"epoch"`
}

// CreatePIN returns a PIN for a game in the channel, which gets the rights of a role.
func (s *Service) CreatePIN(ctx context.Context, c Channel, role string, now time.Time) (pin string, err error) {
	for {
		pin = newPIN()
		err = edit(ctx, s, c.name(key.PinIndex, "", c.hash(pin)), func(index *pinIndex) error {
			if index.Channel != "" {
				return fault.New(fault.Mismatch, "The PIN is another channel's")
			}
			index.Channel = c.ID
			return nil
		})
		if fault.KindOf(err) != fault.Mismatch {
			break
		}
	}
	if err != nil {
		return "", err
	}
	var gone []pinRecord
	err = edit(ctx, s, c.document(), func(r *channelRecord) error {
		before := r.PINs
		r.PINs = unexpired(r.PINs, now.UnixMilli())
		r.PINs = r.PINs[max(len(r.PINs)-maxPINs+1, 0):]
		gone = slices.DeleteFunc(slices.Clone(before), func(p pinRecord) bool { return slices.Contains(r.PINs, p) })
		r.PINs = append(r.PINs, pinRecord{Hash: c.hash(pin), Role: role, Expires: now.Add(PINLifetime).UnixMilli()})
		return nil
	})
	if err == nil {
		s.forgetPINs(ctx, c.Owner, gone)
	}
	return pin, err
}

// forgetPINs deletes the index of PINs that are over. Without success it only takes space.
func (s *Service) forgetPINs(ctx context.Context, o Owner, pins []pinRecord) {
	for _, p := range pins {
		_ = s.documents.Delete(ctx, o.name(key.PinIndex, "", p.Hash))
	}
}

// UsePIN returns what a PIN of CreatePIN is worth. It works once.
func (s *Service) UsePIN(ctx context.Context, o Owner, pin string, now time.Time) (g Grant, err error) {
	hash := o.hashPIN(pin)
	index, err := document.ReadRecord[pinIndex](ctx, s.documents, o.name(key.PinIndex, "", hash))
	if err != nil {
		return g, err
	}
	if index.Channel == "" {
		return g, errPIN()
	}
	c := Channel{o, index.Channel}
	game, secret := newSecret(), newSecret()
	err = edit(ctx, s, c.document(), func(r *channelRecord) error {
		r.expire(now.UnixMilli())
		at := slices.IndexFunc(r.PINs, func(p pinRecord) bool { return p.Hash == hash })
		if at < 0 {
			return errPIN()
		}
		g = r.addGame(c, game, r.PINs[at].Role, secret, now)
		r.PINs = slices.Delete(r.PINs, at, at+1)
		return nil
	})
	if err == nil {
		s.forgetPINs(ctx, o, []pinRecord{{Hash: hash}})
	}
	return g, err
}

// OpenGame returns a PIN for a game to show, and the family of the token that the game gets.
// The token works once a broadcaster has confirmed the PIN.
func (s *Service) OpenGame(ctx context.Context, o Owner, now time.Time) (pin, family string, err error) {
	pin = newPIN()
	id := newSecret()
	err = edit(ctx, s, o.name(key.OpenPairings, "", ""), func(open *openPairings) error {
		open.PINs = unexpired(open.PINs, now.UnixMilli())
		open.PINs = open.PINs[max(len(open.PINs)-maxOpen+1, 0):]
		open.PINs = append(open.PINs, pinRecord{Hash: o.hash(pin), ID: id, Expires: now.Add(PINLifetime).UnixMilli()})
		return nil
	})
	return pin, gameFamily(id), err
}

// ConfirmPIN gives the game that shows a PIN the rights of a broadcaster in the channel.
func (s *Service) ConfirmPIN(ctx context.Context, c Channel, pin string, now time.Time) error {
	hash, id := c.hashPIN(pin), ""
	err := edit(ctx, s, c.name(key.OpenPairings, "", ""), func(open *openPairings) error {
		open.PINs = unexpired(open.PINs, now.UnixMilli())
		at := slices.IndexFunc(open.PINs, func(p pinRecord) bool { return p.Hash == hash })
		if at < 0 {
			return errPIN()
		}
		id = open.PINs[at].ID
		open.PINs = slices.Delete(open.PINs, at, at+1)
		return nil
	})
	if err != nil {
		return err
	}
	var epoch uint64
	if err := edit(ctx, s, c.document(), func(r *channelRecord) error {
		epoch, r.Confirmed = r.Epoch, max(r.Confirmed, now.Add(TokenLifetime).UnixMilli())
		return nil
	}); err != nil {
		return err
	}
	return edit(ctx, s, c.name(key.GamePairing, "", id), func(game *confirmedGame) error {
		*game = confirmedGame{c.ID, epoch}
		return nil
	})
}

func newSecret() string { return rand.Text() }
