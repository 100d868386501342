// Package purchase is the domain of what viewers buy in a channel: transactions of the
// platform's bits, the coins that a viewer gets for them, and what coins buy.
//
// A transaction stays open until a game validates or refunds it; none is dropped. What would
// be too many is refused. The balance, the receipt and the open transaction change in one step.
//
// The package may not know HTTP or a database, has no clock of its own and imports no other
// domain. It verifies no receipt.
package purchase

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// The currencies.
const (
	Bits  = "bits"
	Coins = "coins"
)

// shownOpen limits the open transactions that a game reads at once.
const shownOpen = 10

// Transaction is a purchase as games receive it. Every member is always there.
type Transaction struct {
	ID          string `json:"id"`
	MuxyID      string `json:"muxy_id"`
	SKU         string `json:"sku"`
	DisplayName string `json:"displayName"`
	UserID      string `json:"userId"`
	// Username comes from the buyer's client. Additional says so where there is one.
	Username   string          `json:"username"`
	Cost       int32           `json:"cost"`
	Currency   string          `json:"currency"`
	Timestamp  int64           `json:"timestamp"` // Unix milliseconds
	Additional json.RawMessage `json:"additional"`
}

// Channel names a channel of an extension.
type Channel struct{ Environment, Extension, ID string }

func (c Channel) name(scope key.Scope, id string) string {
	name := key.Name{Kind: key.Document, Environment: c.Environment, Extension: c.Extension, Scope: scope, Channel: c.ID, ID: id}
	if scope == key.PurchaseReceipt {
		name.Channel = ""
	}
	return name.String()
}

// Service answers for the purchases of a store.
type Service struct{ documents *document.Service }

// NewService returns a service over documents, which its owner closes.
func NewService(documents *document.Service) *Service { return &Service{documents} }

// balance is the document of a viewer's coins.
type balance struct {
	Coins int64 `json:"coins"`
	// Open has the ids of the viewer's open transactions. The version before this one drops
	// it, and closes transactions without a change of it.
	Open []string `json:"open,omitempty"`
}

// compute returns an edit of a document of the type T.
func compute[T any](name string, change func(*T) error) document.Edit {
	return document.Edit{Key: name, Change: document.ComputeRecord(change)}
}

// charge returns the edit that changes the coins of the buyer of a transaction, which never
// fall below 0, and counts it as open.
func (c Channel) charge(t Transaction, by int64, after *int64) document.Edit {
	return compute(c.name(key.CoinBalance, t.UserID), func(b *balance) error {
		if b.Coins += by; b.Coins < 0 {
			return fault.New(fault.Invalid, "Not enough coins")
		}
		if len(b.Open) >= maxOpenOfBuyer(t.Currency) {
			return errBuyerFull
		}
		b.Open = append(b.Open, t.MuxyID)
		*after = b.Coins
		return nil
	})
}

// settle returns the edit that gives the buyer of a transaction coins back, and counts it as
// open no more.
func (c Channel) settle(t Transaction, coins int64) document.Edit {
	return compute(c.name(key.CoinBalance, t.UserID), func(b *balance) error {
		b.Coins += coins
		b.Open = slices.DeleteFunc(b.Open, func(id string) bool { return id == t.MuxyID })
		return nil
	})
}

// Record records a transaction of bits, which gives its buyer as many coins, and returns it
// with its own id. It is new unless a transaction with that id was recorded before; then
// nothing changes. Where too many are open it is fault.RateLimited.
func (s *Service) Record(ctx context.Context, c Channel, t Transaction) (recorded Transaction, isNew bool, err error) {
	t.MuxyID, t.Currency = rand.Text(), Bits
	t = t.marked()
	var coins int64
	receipt := compute(c.name(key.PurchaseReceipt, t.ID), func(r *map[string]int64) error {
		*r = map[string]int64{"at": t.Timestamp}
		return nil
	})
	receipt.Match = new(uint64)
	edits := []document.Edit{receipt}
	if t.UserID != "" {
		edits = append(edits, c.charge(t, int64(t.Cost), &coins))
	}
	err = s.add(ctx, c, t, edits...)
	if fault.KindOf(err) == fault.Mismatch {
		return t, false, nil
	}
	return t, err == nil, withoutIndex(err)
}

// marked returns a transaction that says that its buyer's name is unverified.
func (t Transaction) marked() Transaction {
	if t.Username != "" {
		t.Additional = json.RawMessage(`{"username_unverified":true}`)
	}
	return t
}

// Order asks for a product that coins buy.
type Order struct {
	// Transaction lacks what Spend decides: ids, currency and time.
	Transaction Transaction
	// Refusal is the reason why the product cannot be bought, nil for none. It does not
	// refuse a repetition.
	Refusal error
	// Once is the key of the request, nil for none. The document of the buyer's coins keeps it.
	Once *once.Key
}

// Receipt is the result of an order.
type Receipt struct {
	Transaction Transaction
	// Balance is the buyer's coins after it.
	Balance int64
	// Open is set if the transaction waits for a game. That of a repetition need not, and
	// is the zero Transaction then.
	Open bool
}

// Spend buys a product for coins. A repetition of an order buys nothing. Where too many
// transactions are open it is fault.RateLimited, and takes no coins.
func (s *Service) Spend(ctx context.Context, c Channel, o Order, now time.Time) (Receipt, error) {
	if o.Refusal != nil && o.Once == nil {
		return Receipt{}, o.Refusal
	}
	t := o.Transaction
	t.MuxyID, t.Currency, t.Timestamp = rand.Text(), Coins, now.UnixMilli()
	if o.Once != nil {
		t.MuxyID = o.Once.Name()
	}
	t.ID = t.MuxyID
	r := Receipt{Transaction: t, Open: true}
	pay := c.charge(t, -int64(t.Cost), &r.Balance)
	if o.Refusal != nil {
		pay.Change = document.Compute(func([]byte) ([]byte, error) { return nil, o.Refusal })
	}
	pay.Once, pay.OnceForAll = o.Once, true
	err := withoutIndex(s.add(ctx, c, t, pay))
	if err != nil || o.Once == nil || !o.Once.Replayed {
		return r, err
	}
	return s.repeat(ctx, c, t.UserID, o.Once.Name())
}

// repeat returns the receipt of an order that was stored before.
func (s *Service) repeat(ctx context.Context, c Channel, userID, id string) (r Receipt, err error) {
	if r.Balance, err = s.Balance(ctx, c, userID); err != nil {
		return r, err
	}
	t, _, err := s.find(ctx, c, id)
	if fault.KindOf(err) == fault.NotFound {
		return r, nil
	}
	r.Transaction, r.Open = t, err == nil
	return r, err
}

// Balance returns the coins of a viewer in a channel.
func (s *Service) Balance(ctx context.Context, c Channel, userID string) (int64, error) {
	b, err := document.ReadRecord[balance](ctx, s.documents, c.name(key.CoinBalance, userID))
	return b.Coins, err
}

// Open returns the open transactions of a product, or of all where sku is "*": the oldest
// first, and 10 at most.
func (s *Service) Open(ctx context.Context, c Channel, sku string) (shown []Transaction, err error) {
	pages, err := s.readPages(ctx, c)
	if err != nil {
		return nil, err
	}
	for page := range pages {
		open, err := s.openOf(ctx, c, page, pages[page])
		if err != nil {
			return nil, err
		}
		for _, t := range open {
			if sku == "*" || t.SKU == sku {
				shown = append(shown, t)
			}
			if len(shown) == shownOpen {
				return shown, nil
			}
		}
	}
	return shown, nil
}

// Validate closes an open transaction. Another id is fault.NotFound.
func (s *Service) Validate(ctx context.Context, c Channel, id string) error {
	t, page, err := s.find(ctx, c, id)
	if err != nil {
		return err
	}
	return s.finish(ctx, c, page, t, 0)
}

// Refund closes the newest open transaction of a buyer with that id or, where id is empty,
// for that product, and gives its coins back. Bits cannot be returned.
func (s *Service) Refund(ctx context.Context, c Channel, userID, id, sku string) error {
	find := func() (Transaction, int, error) { return s.find(ctx, c, id) }
	if id == "" {
		find = func() (Transaction, int, error) { return s.findNewest(ctx, c, userID, sku) }
	}
	t, page, err := find()
	switch {
	case err != nil:
		return err
	case t.UserID != userID:
		return errNoTransaction()
	case t.Currency == Bits:
		return fault.New(fault.Invalid, "Bits cannot be returned")
	}
	return s.finish(ctx, c, page, t, int64(t.Cost))
}

// finish removes an open transaction from its page and gives its buyer coins back.
func (s *Service) finish(ctx context.Context, c Channel, page int, t Transaction, coins int64) error {
	edits := []document.Edit{compute(c.page(page), func(open *openIDs) error {
		at := slices.Index(open.IDs, t.MuxyID)
		if at < 0 {
			return errNoTransaction()
		}
		open.IDs = slices.Delete(open.IDs, at, at+1)
		return nil
	})}
	if t.UserID != "" {
		edits = append(edits, c.settle(t, coins))
	}
	err := withoutIndex(s.documents.EditAll(ctx, edits))
	if err == nil {
		err = s.documents.Delete(ctx, c.name(key.OpenPurchase, t.MuxyID))
	}
	return err
}

// withoutIndex returns the refusal of one of several edits.
func withoutIndex(err error) error {
	if refused, ok := errors.AsType[*document.EditError](err); ok {
		return refused.Err
	}
	return err
}

func errNoTransaction() error { return fault.New(fault.NotFound, "No such transaction") }

// BelongsTo reports whether a document with a name is about a purchase of a viewer with one
// of the ids. body is asked for where the name does not tell.
func BelongsTo(name string, ids []string, body func() ([]byte, error)) (bool, error) {
	n, err := key.Parse(name)
	switch {
	case err != nil:
		return false, nil //nolint:nilerr // it is no purchase's
	case n.Scope == key.CoinBalance:
		return slices.Contains(ids, n.ID), nil
	case n.Scope != key.OpenPurchase:
		return false, nil
	}
	stored, err := body()
	if err != nil || stored == nil {
		return false, err
	}
	var t Transaction
	err = json.Unmarshal(stored, &t)
	return slices.Contains(ids, t.UserID), err
}
