package purchase

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// The open transactions of a channel are on pages. Coins stay with their buyer when a purchase
// is refused, so these fill one page. Bits are paid before a transaction comes: they fill
// further pages.
const (
	pageSize = 256
	maxPages = 64
)

// maxOpenOfBuyer limits the open transactions of a buyer in a channel, in which one more may
// be opened. It is larger for bits, which are paid already.
func maxOpenOfBuyer(currency string) int {
	if currency == Coins {
		return 32
	}
	return pageSize
}

var (
	errBuyerFull   = fault.New(fault.RateLimited, "Too many open purchases of this viewer; nothing was stored")
	errChannelFull = fault.New(fault.RateLimited, "Too many open purchases in this channel; nothing was stored")
	// errPageFull is seen where another process has filled a page meanwhile.
	errPageFull = fault.New(fault.RateLimited, "Too many open purchases in this channel; nothing was stored")
)

// openIDs is a page: the ids of open transactions, the oldest first.
type openIDs struct {
	IDs []string `json:"ids"`
}

// page returns the name of a page. The version before this one knows the first. The others
// have names of open transactions, which it can export, import and erase; no id is such.
func (c Channel) page(n int) string {
	if n == 0 {
		return c.name(key.OpenPurchases, "")
	}
	return c.name(key.OpenPurchase, "page-"+strconv.Itoa(n))
}

// readPages returns the pages that exist, the first one always. A page exists only if those
// before it do.
func (s *Service) readPages(ctx context.Context, c Channel) (pages []openIDs, err error) {
	for _, upTo := range []int{2, maxPages} { // few channels ever fill a page
		var names []string
		for n := len(pages); n < upTo; n++ {
			names = append(names, c.page(n))
		}
		found, err := s.documents.Get(ctx, names...)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			if d.Version == 0 && len(pages) > 0 {
				return pages, nil
			}
			var page openIDs
			if d.Version > 0 {
				if err := json.Unmarshal(d.Body, &page); err != nil {
					return nil, fault.Wrap(fault.Internal, err, "The stored document cannot be read")
				}
			}
			pages = append(pages, page)
		}
	}
	return pages, nil
}

// nextPage returns the page for a further transaction, -1 if there is no room. Later
// transactions go to later pages, except where the last one is full.
func nextPage(pages []openIDs, currency string) int {
	last, open := 0, 0
	for n, page := range pages {
		if open += len(page.IDs); len(page.IDs) > 0 {
			last = n
		}
	}
	switch {
	case currency == Coins && open >= pageSize:
		return -1
	case len(pages[last].IDs) < pageSize:
		return last
	case last+1 < maxPages:
		return last + 1
	}
	return slices.IndexFunc(pages, func(page openIDs) bool { return len(page.IDs) < pageSize })
}

// add adds an open transaction to a channel, together with other edits. A refusal by those
// comes before the refusal of a full channel.
func (s *Service) add(ctx context.Context, c Channel, t Transaction, with ...document.Edit) (err error) {
	for range maxPages { // other processes fill pages meanwhile
		var pages []openIDs
		if pages, err = s.readPages(ctx, c); err != nil {
			return err
		}
		err = s.documents.EditAll(ctx, slices.Concat(with, c.opening(t, nextPage(pages, t.Currency))))
		if errors.Is(err, errBuyerFull) && s.forgetClosed(ctx, c, t.UserID) {
			continue
		}
		if !errors.Is(err, errPageFull) {
			return err
		}
	}
	return err
}

// opening returns the edits that add an open transaction to a page. That of no page is refused.
func (c Channel) opening(t Transaction, page int) []document.Edit {
	refusal := errPageFull
	if page < 0 {
		page, refusal = 0, errChannelFull
	}
	return []document.Edit{
		compute(c.page(page), func(open *openIDs) error {
			if refusal == errChannelFull || len(open.IDs) >= pageSize {
				return refusal
			}
			open.IDs = append(open.IDs, t.MuxyID)
			return nil
		}),
		compute(c.name(key.OpenPurchase, t.MuxyID), func(stored *Transaction) error { *stored = t; return nil }),
	}
}

// openOf returns the open transactions of a page, the oldest first. Those that were erased
// with their buyers leave the page.
func (s *Service) openOf(ctx context.Context, c Channel, n int, page openIDs) (open []Transaction, err error) {
	gone, err := s.read(ctx, c, page.IDs, func(t Transaction) { open = append(open, t.marked()) })
	if err != nil || len(gone) == 0 {
		return open, err
	}
	_, _ = s.documents.Edit(ctx, compute(c.page(n), func(p *openIDs) error { // else the next reader does it
		p.IDs = slices.DeleteFunc(p.IDs, func(id string) bool { return slices.Contains(gone, id) })
		return nil
	}))
	return open, nil
}

// read calls yield with the transactions that exist and returns the ids of those that do not.
func (s *Service) read(ctx context.Context, c Channel, ids []string, yield func(Transaction)) (gone []string, err error) {
	if len(ids) == 0 {
		return nil, nil
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
		yield(t)
	}
	return gone, err
}

// forgetClosed removes the ids of closed transactions from those that a buyer has open, and
// reports whether there were any: the version before this one leaves them.
func (s *Service) forgetClosed(ctx context.Context, c Channel, userID string) bool {
	name := c.name(key.CoinBalance, userID)
	b, err := document.ReadRecord[balance](ctx, s.documents, name)
	if err != nil {
		return false
	}
	gone, err := s.read(ctx, c, b.Open, func(Transaction) {})
	if err != nil || len(gone) == 0 {
		return false
	}
	_, err = s.documents.Edit(ctx, compute(name, func(b *balance) error {
		b.Open = slices.DeleteFunc(b.Open, func(id string) bool { return slices.Contains(gone, id) })
		return nil
	}))
	return err == nil
}

// find returns an open transaction and its page.
func (s *Service) find(ctx context.Context, c Channel, id string) (found Transaction, page int, err error) {
	pages, err := s.readPages(ctx, c)
	if err != nil {
		return found, 0, err
	}
	page = slices.IndexFunc(pages, func(page openIDs) bool { return slices.Contains(page.IDs, id) })
	if page < 0 {
		return found, 0, errNoTransaction()
	}
	gone, err := s.read(ctx, c, []string{id}, func(t Transaction) { found = t.marked() })
	if err == nil && len(gone) > 0 {
		err = errNoTransaction()
	}
	return found, page, err
}

// findNewest returns a buyer's newest open transaction for a product, and its page.
func (s *Service) findNewest(ctx context.Context, c Channel, userID, sku string) (found Transaction, page int, err error) {
	pages, err := s.readPages(ctx, c)
	if err != nil {
		return found, 0, err
	}
	for page := range slices.Backward(pages) {
		open, err := s.openOf(ctx, c, page, pages[page])
		if err != nil {
			return found, 0, err
		}
		for _, t := range slices.Backward(open) {
			if t.UserID == userID && t.SKU == sku {
				return t, page, nil
			}
		}
	}
	return found, 0, errNoTransaction()
}
