package purchase

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// The transactions of a channel are listed on pages. Coins stay with their buyer when a
// purchase is refused, so these fill one page. Bits are paid before a transaction comes: they
// fill further pages.
const (
	pageSize = contract.MaxChannelCoins
	maxPages = contract.MaxChannelBits / pageSize // of each series
)

// The series of pages. What the versions before this one list on theirs is open, if no account
// of this version says otherwise. They read the others neither to show nor to close.
const (
	earlySeries = "page"
	ownSeries   = "list"
)

// maxOpenOfBuyer limits the open transactions of a buyer in a channel, in which one more may
// be opened. It is larger for bits, which are paid already.
func maxOpenOfBuyer(currency string) int {
	if currency == Coins {
		return contract.MaxBuyerCoins
	}
	return contract.MaxBuyerBits
}

var (
	errBuyerFull   = fault.New(fault.RateLimited, "Too many open purchases of this viewer; nothing was stored")
	errChannelFull = fault.New(fault.RateLimited, "Too many open purchases in this channel; nothing was stored")
	// errPageFull is seen where another process has filled a page meanwhile.
	errPageFull = fault.New(fault.RateLimited, "Too many open purchases in this channel; nothing was stored")
)

// page is a list of ids, the oldest first. It names every open transaction, and others that
// were given up or are closed.
type page struct {
	IDs []string `json:"ids"`

	name   string
	series string
}

func (p page) has(id string) bool { return slices.Contains(p.IDs, id) }

// page returns the name of a page. Except for the first of all they have names of open
// transactions, which the version before this one can export, import and erase; no id is such.
func (c Channel) page(series string, n int) string {
	if series == earlySeries && n == 0 {
		return c.name(key.OpenPurchases, "")
	}
	return c.name(key.OpenPurchase, series+"-"+strconv.Itoa(n))
}

// readPages returns the pages that exist, those of the early series first, and the first one
// of each always. A page exists only if those before it do.
func (s *Service) readPages(ctx context.Context, c Channel) (pages []page, err error) {
	for _, series := range []string{earlySeries, ownSeries} {
		found, err := s.readSeries(ctx, c, series)
		if err != nil {
			return nil, err
		}
		pages = append(pages, found...)
	}
	return pages, nil
}

func (s *Service) readSeries(ctx context.Context, c Channel, series string) (pages []page, err error) {
	for _, upTo := range []int{2, maxPages} { // few channels ever fill a page
		var names []string
		for n := len(pages); n < upTo; n++ {
			names = append(names, c.page(series, n))
		}
		found, err := s.documents.Get(ctx, names...)
		if err != nil {
			return nil, err
		}
		for i, d := range found {
			if d.Version == 0 && len(pages) > 0 {
				return pages, nil
			}
			p := page{name: names[i], series: series}
			if d.Version > 0 {
				if err := json.Unmarshal(d.Body, &p); err != nil {
					return nil, fault.Wrap(fault.Internal, err, "The stored document cannot be read")
				}
			}
			pages = append(pages, p)
		}
	}
	return pages, nil
}

// nextPage returns the number in a series of the page for a further transaction, -1 if there
// is no room. Later transactions go to later pages, except where the last one is full.
func nextPage(pages []page, series, currency string) int {
	var own []page
	last, listed := 0, 0
	for _, p := range pages {
		listed += len(p.IDs)
		if p.series != series {
			continue
		}
		if own = append(own, p); len(p.IDs) > 0 {
			last = len(own) - 1
		}
	}
	switch {
	case currency == Coins && listed >= pageSize, listed >= maxPages*pageSize:
		return -1
	case len(own[last].IDs) < pageSize:
		return last
	case last+1 < maxPages:
		return last + 1
	}
	return slices.IndexFunc(own, func(p page) bool { return len(p.IDs) < pageSize })
}

// list stores a transaction and lists its id, which does not open it. It sweeps the pages
// where they have no room. A transaction that is listed stays as it is. The pages are those
// before.
func (s *Service) list(ctx context.Context, c Channel, t Transaction) (pages []page, on string, err error) {
	stored := compute(c.name(key.OpenPurchase, t.MuxyID), func(stored *Transaction) error { *stored = t; return nil })
	stored.Match = new(uint64)
	if _, err := s.documents.Edit(ctx, stored); err != nil && fault.KindOf(err) != fault.Mismatch {
		return nil, "", nothingBought(err)
	}
	swept := false
	for range maxPages { // other processes fill pages meanwhile
		if pages, err = s.readPages(ctx, c); err != nil {
			return nil, "", err
		}
		if at := slices.IndexFunc(pages, func(p page) bool { return p.has(t.MuxyID) }); at >= 0 {
			return pages, pages[at].name, nil
		}
		n := nextPage(pages, ownSeries, t.Currency)
		if n < 0 && swept {
			return nil, "", errChannelFull
		}
		if n < 0 {
			if err := s.sweep(ctx, c, pages); err != nil {
				return nil, "", err
			}
			swept = true
			continue
		}
		on = c.page(ownSeries, n)
		_, err = s.documents.Edit(ctx, compute(on, func(p *page) error { return p.add(t.MuxyID) }))
		if !errors.Is(err, errPageFull) {
			return pages, on, nothingBought(err)
		}
	}
	return nil, "", errChannelFull
}

func (p *page) add(id string) error {
	switch {
	case p.has(id):
		return nil
	case len(p.IDs) >= pageSize:
		return errPageFull
	}
	p.IDs = append(p.IDs, id)
	return nil
}

// nothingBought returns the error of a write that buys nothing, whether it is stored or not.
func nothingBought(err error) error {
	if fault.KindOf(err) == fault.Uncertain {
		return fault.Wrap(fault.Storage, err, "The purchase could not be listed")
	}
	return err
}

// unlist deletes transactions that are not open, and will not be, and takes them off their
// page if they are on one, together with those that are gone. What it does not come to is not shown: the next reader or sweep
// does it.
func (s *Service) unlist(ctx context.Context, c Channel, from string, gone []string, ids ...string) error {
	gone = slices.Clone(gone)
	var failure error
	for _, id := range ids {
		if err := s.documents.Delete(ctx, c.name(key.OpenPurchase, id)); err != nil {
			failure = fault.Wrap(fault.Storage, err, "The transaction could not be deleted")
			continue
		}
		gone = append(gone, id)
	}
	if len(gone) == 0 || from == "" {
		return failure
	}
	_, err := s.documents.Edit(ctx, compute(from, func(p *page) error {
		p.IDs = slices.DeleteFunc(p.IDs, func(id string) bool { return slices.Contains(gone, id) })
		return nil
	}))
	return nothingBought(err)
}

// read returns the transactions that exist, and the ids of those that do not.
func (s *Service) read(ctx context.Context, c Channel, ids []string) (all []Transaction, gone []string, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = c.name(key.OpenPurchase, id)
	}
	found, err := s.documents.Get(ctx, keys...)
	for i, d := range found {
		var t Transaction
		if d.Version == 0 || json.Unmarshal(d.Body, &t) != nil || t.MuxyID == "" {
			gone = append(gone, ids[i])
			continue
		}
		all = append(all, t.marked())
	}
	return all, gone, err
}

// contents are the transactions of a page.
type contents struct {
	open []Transaction // the oldest first
	// dead has the ids of those that are closed, gone those that do not exist any more.
	dead, gone []string
	// unsure are purchases with coins that are closed, were given up, or are about to be
	// opened.
	unsure []Transaction
}

// inspect returns what is open of a page, which accounts decide. It completes the bits of a
// transaction whose process ended before.
func (s *Service) inspect(ctx context.Context, c Channel, p page) (found contents, err error) {
	all, gone, err := s.read(ctx, c, p.IDs)
	if err != nil {
		return found, err
	}
	found.gone = gone
	accounts, err := s.readAccounts(ctx, c, all)
	if err != nil {
		return found, err
	}
	for _, t := range all {
		a, open := accounts[t.buyer()], p.series == earlySeries
		if a.Coins.decides || !open {
			open = slices.Contains(a.Open, t.MuxyID)
		}
		switch {
		case open:
			found.open = append(found.open, t)
		case p.series == earlySeries:
			found.dead = append(found.dead, t.MuxyID)
		case t.Currency == Coins:
			found.unsure = append(found.unsure, t)
		default:
			err = s.complete(ctx, c, t, &found)
		}
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// openOf returns the open transactions of a page, the oldest first.
func (s *Service) openOf(ctx context.Context, c Channel, p page) ([]Transaction, error) {
	found, err := s.inspect(ctx, c, p)
	if err == nil {
		_ = s.unlist(ctx, c, p.name, found.gone, found.dead...) // else the next reader does it
	}
	return found.open, err
}

// sweep removes from the pages what is not open, after it has made sure that it stays so.
func (s *Service) sweep(ctx context.Context, c Channel, pages []page) error {
	for _, p := range pages {
		found, err := s.inspect(ctx, c, p)
		if err != nil {
			return err
		}
		of := map[string][]string{}
		for _, t := range found.unsure {
			if len(of[t.buyer()]) < maxVoid {
				of[t.buyer()] = append(of[t.buyer()], t.MuxyID)
			}
		}
		for buyer, ids := range of {
			void, err := s.giveUp(ctx, c, buyer, ids)
			if err != nil {
				return err
			}
			found.dead = append(found.dead, void...)
		}
		if err := s.unlist(ctx, c, p.name, found.gone, found.dead...); err != nil {
			return err
		}
	}
	return nil
}

// giveUp makes sure that purchases which are not open are not opened any more, and returns
// the ids of these.
func (s *Service) giveUp(ctx context.Context, c Channel, buyer string, ids []string) (void []string, err error) {
	err = s.change(ctx, c, buyer, nil, func(a *account) error {
		void = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(a.Open, id) })
		a.Void, a.Voids = append(a.Void, void...), a.Voids+int64(len(void))
		a.Void = a.Void[max(0, len(a.Void)-maxVoid):]
		return nil
	})
	switch {
	case errors.Is(err, errEarly):
		return nil, nil // until no process is alive that cannot read the account
	case err != nil:
		return nil, nothingBought(err)
	}
	return void, nil
}

// find returns an open transaction and its page.
func (s *Service) find(ctx context.Context, c Channel, id string) (t Transaction, p page, err error) {
	pages, err := s.readPages(ctx, c)
	if err != nil {
		return t, p, err
	}
	for _, p := range pages {
		if !p.has(id) {
			continue
		}
		p.IDs = []string{id}
		open, err := s.openOf(ctx, c, p)
		if err != nil || len(open) > 0 {
			return append(open, t)[0], p, err
		}
	}
	return t, p, errNoTransaction()
}

// findNewest returns a buyer's newest open transaction for a product, and its page.
func (s *Service) findNewest(ctx context.Context, c Channel, userID, sku string) (found Transaction, p page, err error) {
	pages, err := s.readPages(ctx, c)
	if err != nil {
		return found, p, err
	}
	for _, p := range slices.Backward(pages) {
		open, err := s.openOf(ctx, c, p)
		if err != nil {
			return found, p, err
		}
		for _, t := range slices.Backward(open) {
			if t.UserID == userID && t.SKU == sku {
				return t, p, nil
			}
		}
	}
	return found, p, errNoTransaction()
}
