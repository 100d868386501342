package pairing

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
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
	Key     string `json:"key,omitempty"` // of the broadcaster's token
}

// CreatePIN returns a PIN for a game in the channel.
func (s *Service) CreatePIN(ctx context.Context, c Channel, by Request, now time.Time) (pin string, err error) {
	for {
		pin = newPIN()
		record := pinRecord{Hash: c.hash(pin), Role: by.role(), Server: by.Server, Key: by.Key, Expires: now.Add(contract.PINLifetime).UnixMilli()}
		if err = s.addPIN(ctx, c, record, now); fault.KindOf(err) != fault.Mismatch {
			return pin, err
		}
	}
}

// addPIN stores a PIN. The error is fault.Mismatch if the PIN is taken. The channel's document comes first:
// what an end between the two writes leaves there leads nowhere, and goes as any PIN does. An index alone
// would stay for good.
func (s *Service) addPIN(ctx context.Context, c Channel, pin pinRecord, now time.Time) error {
	name := c.name(key.PinIndex, "", pin.Hash)
	claim := func(index *pinIndex) error {
		if index.Channel != "" {
			return fault.New(fault.Mismatch, "The PIN is taken")
		}
		index.Channel = c.ID
		return nil
	}
	index, err := document.ReadRecord[pinIndex](ctx, s.documents, name)
	if err := cmp.Or(err, claim(&index)); err != nil {
		return err
	}
	err = s.editPINs(ctx, c, func(r *channelRecord) error {
		r.PINs = unexpired(r.PINs, now.UnixMilli())
		r.PINs = append(r.PINs[max(len(r.PINs)-contract.MaxPINs+1, 0):], pin)
		return nil
	})
	if err != nil {
		return err
	}
	return edit(ctx, s, name, claim)
}

// editPINs changes the document of a channel, and forgets the PINs that it then lacks. Without success their
// index only takes space.
func (s *Service) editPINs(ctx context.Context, c Channel, change func(*channelRecord) error) error {
	var gone []pinRecord
	err := edit(ctx, s, c.document(), func(r *channelRecord) error {
		before := slices.Clone(r.PINs)
		err := change(r)
		gone = slices.DeleteFunc(before, func(p pinRecord) bool { return slices.Contains(r.PINs, p) })
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range gone {
		name := c.name(key.PinIndex, "", p.Hash)
		if index, err := document.ReadRecord[pinIndex](ctx, s.documents, name); err == nil && index.Channel == c.ID {
			_ = s.documents.Delete(ctx, name)
		}
	}
	return nil
}

// broadcaster is the role whose rights a game has.
const broadcaster = "broadcaster"

// role returns the role that a record keeps. Processes of an earlier version give a game the
// rights of all channels where it is a server's.
func (r Request) role() string {
	if r.Server {
		return r.By
	}
	return broadcaster
}

// UsePIN returns what a PIN of CreatePIN is worth. It works once, and as long as its key is among
// the active ones; the last of these is the oldest.
func (s *Service) UsePIN(ctx context.Context, o Owner, pin string, keys []string, now time.Time) (g Grant, err error) {
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
	err = s.editPINs(ctx, c, func(r *channelRecord) error {
		r.expire(now.UnixMilli())
		r.PINs = unexpired(r.PINs, now.UnixMilli())
		at := slices.IndexFunc(r.PINs, func(p pinRecord) bool { return p.Hash == hash })
		if at < 0 {
			return errPIN()
		}
		key, ok := keyInForce(r.PINs[at].Key, keys)
		if !ok {
			return errPIN()
		}
		g = r.addGame(c, gameRecord{ID: game, Role: r.PINs[at].Role, Server: r.PINs[at].Server, Key: key}, secret, now)
		r.PINs = slices.Delete(r.PINs, at, at+1)
		return nil
	})
	return g, err
}

// keyInForce returns the key that a record ends with, and whether it is active. A record of an
// earlier version, which has none, ends with the oldest active one.
func keyInForce(recorded string, active []string) (key string, ok bool) {
	if recorded == "" && len(active) > 0 {
		return active[len(active)-1], true
	}
	return recorded, slices.Contains(active, recorded)
}

// OpenGame returns a PIN for a game to show, and the family of the token that the game gets. The
// token works once a broadcaster has confirmed the PIN. from names the address of the game, empty
// where it is unknown. Where too many PINs are open it is fault.RateLimited.
func (s *Service) OpenGame(ctx context.Context, o Owner, from string, now time.Time) (pin, family string, err error) {
	pin = newPIN()
	id := newSecret()
	err = edit(ctx, s, o.name(key.OpenPairings, "", ""), func(open *openPairings) error {
		open.PINs = unexpired(open.PINs, now.UnixMilli())
		next := pinRecord{Hash: o.hash(pin), ID: id, Expires: now.Add(contract.PINLifetime).UnixMilli()}
		if from != "" {
			next.From = o.hash(from)[:16]
		}
		if !open.makeRoom(next.From) {
			return fault.New(fault.RateLimited, "Too many requests; nothing was stored")
		}
		open.PINs = append(open.PINs, next)
		return nil
	})
	return pin, gameFamily(id), err
}

// makeRoom drops the oldest PIN of an address that has too many, or, where all places are taken,
// of the one with most. It returns false where each address has one, as none takes another's
// only PIN.
func (o *openPairings) makeRoom(from string) bool {
	count := map[string]int{}
	for _, p := range o.PINs {
		count[p.From]++
	}
	most := from
	switch {
	case from != "" && count[from] >= contract.MaxShownFrom:
	case len(o.PINs) < contract.MaxShown:
		return true
	default:
		for name, n := range count {
			if n > count[most] {
				most = name
			}
		}
		if count[most] < 2 {
			return false
		}
	}
	oldest := slices.IndexFunc(o.PINs, func(p pinRecord) bool { return p.From == most })
	o.PINs = slices.Delete(o.PINs, oldest, oldest+1)
	return true
}

// ConfirmPIN gives the game that shows a PIN the rights of a broadcaster in the channel, and
// returns the family of its token. keyID is the id of the key that signed the broadcaster's token.
// The PIN is used up exactly where the game is paired: all is one change.
func (s *Service) ConfirmPIN(ctx context.Context, c Channel, pin, keyID string, now time.Time) (family string, err error) {
	hash, openName := c.hashPIN(pin), c.name(key.OpenPairings, "", "")
	shown, err := document.ReadRecord[openPairings](ctx, s.documents, openName)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(shown.PINs, func(p pinRecord) bool { return p.Hash == hash })
	if at < 0 {
		return "", errPIN()
	}
	id, epoch := shown.PINs[at].ID, uint64(0)
	return gameFamily(id), s.documents.EditAll(ctx, []document.Edit{
		newEdit(openName, func(open *openPairings) error {
			open.PINs = unexpired(open.PINs, now.UnixMilli())
			at := slices.IndexFunc(open.PINs, func(p pinRecord) bool { return p.Hash == hash && p.ID == id })
			if at < 0 {
				return errPIN()
			}
			open.PINs = slices.Delete(open.PINs, at, at+1)
			return nil
		}),
		newEdit(c.document(), func(r *channelRecord) error {
			r.expire(now.UnixMilli())
			end := now.Add(contract.GameTokenLifetime).UnixMilli()
			epoch, r.Confirmed = r.Epoch, max(r.Confirmed, end)
			r.Shown = append(r.Shown[max(len(r.Shown)-maxConfirmed+1, 0):], shownRecord{id, now.UnixMilli(), end})
			return nil
		}),
		newEdit(c.name(key.GamePairing, "", id), func(game *confirmedGame) error { // evaluated after the channel's
			*game = confirmedGame{c.ID, epoch, keyID}
			return nil
		}),
	})
}

func newSecret() string { return rand.Text() }
