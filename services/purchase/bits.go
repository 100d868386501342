package purchase

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// receipt is the document of a transaction of bits. It stays forever: the platform's
// receipt may be sent as long as it can be verified.
type receipt struct {
	At int64 `json:"at"` // the time of the transaction, in Unix milliseconds
	// ID and Channel are those under which it is being recorded, empty once its coins were
	// given.
	ID      string `json:"id,omitempty"`
	Channel string `json:"channel,omitempty"`
}

// errGiven is seen where the coins of a transaction of bits were given before.
var errGiven = fault.New(fault.Conflict, "The transaction was recorded before")

// Record records a transaction of bits, which gives its buyer as many coins, and returns it
// with its own id. It is new unless a transaction with that id was recorded before; then
// nothing changes. Where too many are open it is fault.RateLimited. Repeated after another
// failure it finishes what the first attempt began, in that one's channel.
func (s *Service) Record(ctx context.Context, c Channel, t Transaction) (recorded Transaction, isNew bool, err error) {
	t.MuxyID, t.Currency = rand.Text(), Bits
	t = t.marked()
	err = either(
		func() error { t, isNew, err = s.record(ctx, c, t); return err },
		func() error { isNew, err = s.recordEarly(ctx, c, t); return err })
	return t, isNew, err
}

// record claims the receipt, lists the transaction, and then gives the coins, which opens it.
func (s *Service) record(ctx context.Context, c Channel, t Transaction) (recorded Transaction, isNew bool, err error) {
	r, err := s.claim(ctx, c, t)
	if err != nil || r.ID == "" {
		return t, false, err
	}
	t.MuxyID, c.ID = r.ID, r.Channel
	if _, _, err := s.list(ctx, c, t); err != nil {
		return t, false, err
	}
	err = s.whereRoom(ctx, c, t, func() error { isNew, err = s.give(ctx, c, t); return err })
	switch {
	case errors.Is(err, errGiven):
		err = nil
	case errors.Is(err, errEarly): // the receipt is claimed
		err = errWaits()
	}
	return t, isNew && err == nil, err
}

// claim returns the receipt of a transaction. A new one is refused where its buyer has too
// many open.
func (s *Service) claim(ctx context.Context, c Channel, t Transaction) (r receipt, err error) {
	name := c.name(key.PurchaseReceipt, t.ID)
	found, err := s.documents.Get(ctx, name)
	if err != nil {
		return r, err
	}
	if found[0].Version == 0 {
		err := s.whereRoom(ctx, c, t, func() error {
			return s.change(ctx, c, t.buyer(), nil, func(a *account) error {
				if err := a.open(t); err != nil {
					return err
				}
				return errAsked
			})
		})
		if !errors.Is(err, errAsked) {
			return r, err
		}
		claimed := compute(name, func(r *receipt) error {
			*r = receipt{At: t.Timestamp, ID: t.MuxyID, Channel: c.ID}
			return nil
		})
		claimed.Match = new(uint64)
		if _, err := s.documents.Edit(ctx, claimed); err != nil && fault.KindOf(err) != fault.Mismatch {
			return r, err
		}
	}
	return document.ReadRecord[receipt](ctx, s.documents, name)
}

// give gives the coins of a transaction of bits and opens it, once. It is errGiven where that
// was done before, unless the account knows it.
//
// An account that lacks a transaction is read before the receipt. If the receipt waits then,
// the coins were not given before the account had that version, so that only one of several
// processes writes the next one.
func (s *Service) give(ctx context.Context, c Channel, t Transaction) (given bool, err error) {
	name := c.name(key.PurchaseReceipt, t.ID)
	err = s.change(ctx, c, t.buyer(), nil, func(a *account) error {
		given = false
		if slices.Contains(a.Open, t.MuxyID) || slices.Contains(a.Given, t.MuxyID) {
			return nil
		}
		r, err := document.ReadRecord[receipt](ctx, s.documents, name)
		switch {
		case err != nil:
			return err
		case r.ID != t.MuxyID:
			return errGiven
		}
		given = true
		a.Given = append(a.Given, t.MuxyID)
		return a.open(t)
	})
	if err != nil {
		return false, err
	}
	// A failure leaves the account what it has to know. The next process that looks at the
	// transaction repeats this.
	_, failure := s.documents.Edit(ctx, compute(name, func(r *receipt) error {
		if r.ID == t.MuxyID {
			*r = receipt{At: r.At}
		}
		return nil
	}))
	if failure == nil {
		_ = s.change(ctx, c, t.buyer(), nil, func(a *account) error {
			a.Given = slices.DeleteFunc(a.Given, func(id string) bool { return id == t.MuxyID })
			return nil
		})
	}
	return given, nil
}

// complete gives what is due for a listed transaction of bits, and adds it to the contents of
// its page.
func (s *Service) complete(ctx context.Context, c Channel, t Transaction, found *contents) error {
	switch _, err := s.give(ctx, c, t); {
	case errors.Is(err, errBuyerFull), errors.Is(err, errEarly):
		return nil // it waits
	case err != nil && !errors.Is(err, errGiven):
		return err
	}
	// Its coins were given before the account is read here.
	a, err := s.readAccount(ctx, c, t.buyer())
	switch {
	case err != nil:
		return err
	case slices.Contains(a.Open, t.MuxyID):
		found.open = append(found.open, t)
	default:
		found.dead = append(found.dead, t.MuxyID)
	}
	return nil
}

// relist lists those of the ids that no page names: a version before this one drops the oldest
// from a full page. What is closed meanwhile does no harm there.
func (s *Service) relist(ctx context.Context, c Channel, pages []page, held []string) error {
	missing := slices.DeleteFunc(held, func(id string) bool {
		return slices.ContainsFunc(pages, func(p page) bool { return p.has(id) })
	})
	lost, _, err := s.read(ctx, c, missing)
	for _, t := range lost {
		if err == nil {
			_, _, err = s.list(ctx, c, t)
		}
	}
	return err
}

// forget removes from the open transactions of a buyer those of the ids that do not exist:
// a version before this one closes them without a change of the account.
func (s *Service) forget(ctx context.Context, c Channel, buyer string, ids []string) error {
	_, gone, err := s.read(ctx, c, ids)
	if err != nil || len(gone) == 0 {
		return err
	}
	return s.change(ctx, c, buyer, nil, func(a *account) error { a.forget(gone...); return nil })
}
