// Package purchase is the domain of what viewers buy in a channel: transactions of the
// platform's bits, the coins that a viewer gets for them, and what coins buy.
//
// A transaction stays open until a game validates or refunds it. The balance, the receipt
// and the open transaction change in one step.
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

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/internal/once"
)

// The currencies.
const (
	Bits  = "bits"
	Coins = "coins"
)

const (
	// maxOpen limits the open transactions of a channel; the oldest goes.
	maxOpen = 256
	// shownOpen limits those that a game reads at once.
	shownOpen = 10
)

// Transaction is a purchase as games receive it. Every member is always there.
type Transaction struct {
	ID          string          `json:"id"`
	MuxyID      string          `json:"muxy_id"`
	SKU         string          `json:"sku"`
	DisplayName string          `json:"displayName"`
	UserID      string          `json:"userId"`
	Username    string          `json:"username"`
	Cost        int32           `json:"cost"`
	Currency    string          `json:"currency"`
	Timestamp   int64           `json:"timestamp"` // Unix milliseconds
	Additional  json.RawMessage `json:"additional"`
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
}

// openIDs is the document of the open transactions of a channel, the oldest first.
type openIDs struct {
	IDs []string `json:"ids"`
}

// compute returns an edit of a document of the type T.
func compute[T any](name string, change func(*T) error) document.Edit {
	return document.Edit{Key: name, Change: document.ComputeRecord(change)}
}

// opening returns the edits that add an open transaction to a channel.
func (c Channel) opening(t Transaction) []document.Edit {
	return []document.Edit{
		compute(c.name(key.OpenPurchase, t.MuxyID), func(stored *Transaction) error { *stored = t; return nil }),
		compute(c.name(key.OpenPurchases, ""), func(open *openIDs) error {
			open.IDs = append(open.IDs[max(len(open.IDs)-maxOpen+1, 0):], t.MuxyID)
			return nil
		}),
	}
}

// addCoins returns the edit that changes a viewer's balance, which never falls below 0.
func (c Channel) addCoins(userID string, by int64, after *int64) document.Edit {
	return compute(c.name(key.CoinBalance, userID), func(b *balance) error {
		if b.Coins += by; b.Coins < 0 {
			return fault.New(fault.Invalid, "Not enough coins")
		}
		*after = b.Coins
		return nil
	})
}

// Record records a transaction of bits, which gives its buyer as many coins, and returns it
// with its own id. It is new unless a transaction with that id was recorded before; then
// nothing changes.
func (s *Service) Record(ctx context.Context, c Channel, t Transaction) (recorded Transaction, isNew bool, err error) {
	t.MuxyID, t.Currency = rand.Text(), Bits
	var coins int64
	receipt := compute(c.name(key.PurchaseReceipt, t.ID), func(r *map[string]int64) error {
		*r = map[string]int64{"at": t.Timestamp}
		return nil
	})
	receipt.Match = new(uint64)
	edits := append(c.opening(t), receipt)
	if t.UserID != "" {
		edits = append(edits, c.addCoins(t.UserID, int64(t.Cost), &coins))
	}
	err = s.documents.EditAll(ctx, edits)
	if fault.KindOf(err) == fault.Mismatch {
		return t, false, nil
	}
	return t, err == nil, err
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

// Spend buys a product for coins. A repetition of an order buys nothing.
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
	pay := c.addCoins(t.UserID, -int64(t.Cost), &r.Balance)
	if o.Refusal != nil {
		pay.Change = document.Compute(func([]byte) ([]byte, error) { return nil, o.Refusal })
	}
	pay.Once, pay.OnceForAll = o.Once, true
	err := withoutIndex(s.documents.EditAll(ctx, append(c.opening(t), pay)))
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
	open, err := s.open(ctx, c)
	at := slices.IndexFunc(open, func(t Transaction) bool { return t.MuxyID == id })
	if err == nil && at >= 0 {
		r.Transaction, r.Open = open[at], true
	}
	return r, err
}

// Balance returns the coins of a viewer in a channel.
func (s *Service) Balance(ctx context.Context, c Channel, userID string) (int64, error) {
	b, err := document.ReadRecord[balance](ctx, s.documents, c.name(key.CoinBalance, userID))
	return b.Coins, err
}

// Open returns the open transactions of a product, or of all where sku is "*": the oldest
// first, and 10 at most.
func (s *Service) Open(ctx context.Context, c Channel, sku string) ([]Transaction, error) {
	all, err := s.open(ctx, c)
	all = slices.DeleteFunc(all, func(t Transaction) bool { return sku != "*" && t.SKU != sku })
	return all[:min(len(all), shownOpen)], err
}

func (s *Service) open(ctx context.Context, c Channel) ([]Transaction, error) {
	open, err := document.ReadRecord[openIDs](ctx, s.documents, c.name(key.OpenPurchases, ""))
	if err != nil || len(open.IDs) == 0 {
		return nil, err
	}
	var keys []string
	for _, id := range open.IDs {
		keys = append(keys, c.name(key.OpenPurchase, id))
	}
	found, err := s.documents.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	var all []Transaction
	for _, d := range found {
		var t Transaction
		if d.Version == 0 || json.Unmarshal(d.Body, &t) != nil || t.MuxyID == "" {
			continue // it was erased with its buyer
		}
		all = append(all, t)
	}
	return all, nil
}

// Validate closes an open transaction. Another id is fault.NotFound.
func (s *Service) Validate(ctx context.Context, c Channel, id string) error {
	return s.finish(ctx, c, id)
}

// Refund closes the newest open transaction of a buyer with that id or, where id is empty,
// for that product, and gives its coins back. Bits cannot be returned.
func (s *Service) Refund(ctx context.Context, c Channel, userID, id, sku string) error {
	all, err := s.open(ctx, c)
	if err != nil {
		return err
	}
	for _, t := range slices.Backward(all) {
		if t.UserID != userID || id != "" && t.MuxyID != id || id == "" && t.SKU != sku {
			continue
		}
		if t.Currency == Bits {
			return fault.New(fault.Invalid, "Bits cannot be returned")
		}
		var coins int64
		return s.finish(ctx, c, t.MuxyID, c.addCoins(userID, int64(t.Cost), &coins))
	}
	return errNoTransaction()
}

// finish removes an open transaction together with other edits.
func (s *Service) finish(ctx context.Context, c Channel, id string, with ...document.Edit) error {
	err := s.documents.EditAll(ctx, append(with, compute(c.name(key.OpenPurchases, ""), func(open *openIDs) error {
		at := slices.Index(open.IDs, id)
		if at < 0 {
			return errNoTransaction()
		}
		open.IDs = slices.Delete(open.IDs, at, at+1)
		return nil
	})))
	if err = withoutIndex(err); err == nil {
		err = s.documents.Delete(ctx, c.name(key.OpenPurchase, id))
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
