package purchase

import (
	"context"
	"errors"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// This file holds what a process does while one of the version before this one is alive, which
// cannot read the accounts of this version. Pages decide then what is open. The documents
// change in one step where the store has transactions. Where it has none, coins are taken
// before a purchase is opened, and a purchase is closed before coins are given.

// earlyOf returns the ids of what a buyer has open, as pages decide.
func (s *Service) earlyOf(ctx context.Context, c Channel, buyer string) (open []string, err error) {
	pages, err := s.readSeries(ctx, c, earlySeries)
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		all, _, err := s.read(ctx, c, p.IDs)
		if err != nil {
			return nil, err
		}
		for _, t := range all {
			if t.buyer() == buyer {
				open = append(open, t.MuxyID)
			}
		}
	}
	return open, nil
}

// changeEarly returns the edit of the account of the buyer of a transaction. It is errDecides
// where the account is of this version.
func (c Channel) changeEarly(t Transaction, do func(*account) error) document.Edit {
	return compute(c.account(t.buyer()), func(a *account) error {
		if a.Coins.decides {
			return errDecides
		}
		return do(a)
	})
}

// spendEarly is spend for an account of an earlier version.
func (s *Service) spendEarly(ctx context.Context, c Channel, t Transaction, o Order) (Receipt, error) {
	r := Receipt{Transaction: t, Open: true}
	pay := c.changeEarly(t, func(a *account) error {
		if o.Refusal != nil {
			return o.Refusal
		}
		err := a.open(t)
		r.Balance = a.Coins.now
		return err
	})
	pay.Once, pay.OnceForAll = o.Once, true
	err := s.openEarly(ctx, c, t, pay)
	return r, err
}

// recordEarly is record for an account of an earlier version.
func (s *Service) recordEarly(ctx context.Context, c Channel, t Transaction) (isNew bool, err error) {
	r := compute(c.name(key.PurchaseReceipt, t.ID), func(r *receipt) error { r.At = t.Timestamp; return nil })
	r.Match = new(uint64)
	err = s.openEarly(ctx, c, t, r, c.changeEarly(t, func(a *account) error { return a.open(t) }))
	if fault.KindOf(err) != fault.Mismatch {
		return err == nil, err
	}
	known, err := document.ReadRecord[receipt](ctx, s.documents, c.name(key.PurchaseReceipt, t.ID))
	if err == nil && known.ID != "" {
		err = errWaits()
	}
	return false, err
}

// errWaits refuses a transaction that a process of this version has begun to record.
func errWaits() error {
	return fault.New(fault.Unavailable, "The transaction waits for processes of an earlier version")
}

// openEarly opens a transaction, together with other edits. A refusal by those comes before
// the refusal of a full channel.
func (s *Service) openEarly(ctx context.Context, c Channel, t Transaction, with ...document.Edit) (err error) {
	for range maxPages { // other processes fill pages meanwhile
		var pages []page
		if pages, err = s.readPages(ctx, c); err != nil {
			return err
		}
		err = s.documents.EditAll(ctx, slices.Concat(with, c.listEarly(t, nextPage(pages, earlySeries, t.Currency))))
		if errors.Is(err, errBuyerFull) && s.forgetEarly(ctx, c, t.UserID) {
			continue
		}
		if !errors.Is(err, errPageFull) {
			return withoutIndex(err)
		}
	}
	return withoutIndex(err)
}

// listEarly returns the edits that add an open transaction to a page. That of no page is
// refused.
func (c Channel) listEarly(t Transaction, n int) []document.Edit {
	refusal := errPageFull
	if n < 0 {
		n, refusal = 0, errChannelFull
	}
	return []document.Edit{
		compute(c.name(key.OpenPurchase, t.MuxyID), func(stored *Transaction) error { *stored = t; return nil }),
		compute(c.page(earlySeries, n), func(p *page) error {
			if refusal == errChannelFull {
				return refusal
			}
			return p.add(t.MuxyID)
		}),
	}
}

// forgetEarly removes the ids of closed transactions from those that a buyer has open, and
// reports whether there were any: the version before this one leaves them.
func (s *Service) forgetEarly(ctx context.Context, c Channel, userID string) bool {
	a, err := s.readAccount(ctx, c, userID)
	if err != nil {
		return false
	}
	_, gone, err := s.read(ctx, c, a.Open)
	if err != nil || len(gone) == 0 {
		return false
	}
	_, err = s.documents.Edit(ctx, compute(c.account(userID), func(a *account) error { a.forget(gone...); return nil }))
	return err == nil
}

// closeEarly removes an open transaction from its page and gives its buyer coins back.
func (s *Service) closeEarly(ctx context.Context, c Channel, p page, t Transaction, coins int64) error {
	off := compute(p.name, func(p *page) error {
		at := slices.Index(p.IDs, t.MuxyID)
		if at < 0 {
			return errNoTransaction()
		}
		p.IDs = slices.Delete(p.IDs, at, at+1)
		return nil
	})
	back := c.changeEarly(t, func(a *account) error {
		a.Coins.now += coins
		a.forget(t.MuxyID)
		return nil
	})
	err := withoutIndex(s.documents.EditAll(ctx, []document.Edit{off, back}))
	if err == nil {
		_ = s.documents.Delete(ctx, c.name(key.OpenPurchase, t.MuxyID)) // it is closed
	}
	return err
}
