// Package purchase is the domain of what viewers buy in a channel: transactions of the
// platform's bits, the coins that a viewer gets for them, and what coins buy.
//
// A transaction stays open until a game validates or refunds it; none is dropped. What would
// be too many is refused. What always holds, whatever of a request is lost, and on stores
// without transactions:
//
//   - The coins that a viewer was granted are the balance, the cost of the open purchases for
//     coins, and that of the validated ones.
//   - A transaction is closed once.
//   - A repetition with its key buys nothing, and a receipt gives coins once.
//
// The account of a buyer has the coins and the ids of the open transactions, and it alone
// decides: each of these changes is one write of one document. A transaction is stored and
// listed before it is opened, and taken off after it is closed, so what a request leaves
// behind on a list is not open. A reader that finds it there finishes or removes it.
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
	"strings"
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
type Service struct {
	documents *document.Service
	peersRead func() bool
}

// NewService returns a service over documents, which its owner closes. peersRead reports
// whether all processes over the store read the accounts of this version; nil is true.
func NewService(documents *document.Service, peersRead func() bool) *Service {
	if peersRead == nil {
		peersRead = func() bool { return true }
	}
	return &Service{documents, peersRead}
}

// compute returns an edit of a document of the type T.
func compute[T any](name string, change func(*T) error) document.Edit {
	return document.Edit{Key: name, Change: document.ComputeRecord(change)}
}

// turns limits how often an account goes from one version to another under a request.
const turns = 3

// either does what an account of this version asks for or, where it is of an earlier one and
// stays so, the other.
func either(own, early func() error) (err error) {
	for range turns {
		if err = own(); errors.Is(err, errEarly) {
			err = early()
		}
		if !errors.Is(err, errDecides) {
			return err
		}
	}
	return fault.Wrap(fault.Unavailable, err, "The account is being changed too often")
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
func (s *Service) Spend(ctx context.Context, c Channel, o Order, now time.Time) (r Receipt, err error) {
	if o.Refusal != nil && o.Once == nil {
		return r, o.Refusal
	}
	t := o.Transaction
	t.MuxyID, t.Currency, t.Timestamp = rand.Text(), Coins, now.UnixMilli()
	if o.Once != nil {
		// The name finds it when the order is repeated, the rest tells the attempts apart.
		t.MuxyID = o.Once.Name() + "-" + t.MuxyID
	}
	t.ID = t.MuxyID
	err = either(
		func() error { r, err = s.spend(ctx, c, t, o); return err },
		func() error { r, err = s.spendEarly(ctx, c, t, o); return err })
	if err != nil || o.Once == nil || !o.Once.Replayed {
		return r, err
	}
	return s.repeat(ctx, c, t.UserID, o.Once.Name())
}

// errAsked ends a change that only asks whether it would be refused.
var errAsked = fault.New(fault.Conflict, "Nothing was asked to be stored")

// spend lists a transaction and then takes the coins, which opens it.
func (s *Service) spend(ctx context.Context, c Channel, t Transaction, o Order) (Receipt, error) {
	var balance, voids int64
	var held []string
	pay := func(a *account) error {
		if o.Refusal != nil {
			return o.Refusal
		}
		held = slices.Clone(a.Open)
		err := a.open(t)
		balance = a.Coins.now
		return err
	}
	err := s.whereRoom(ctx, c, t, func() error {
		return s.change(ctx, c, t.buyer(), o.Once, func(a *account) error {
			if err := pay(a); err != nil {
				return err
			}
			voids = a.Voids
			return errAsked
		})
	})
	if !errors.Is(err, errAsked) {
		return Receipt{}, err // nil where the order is repeated
	}
	on, err := s.enter(ctx, c, t, held)
	if err == nil {
		err = s.change(ctx, c, t.buyer(), o.Once, func(a *account) error {
			if a.Voids-voids > maxVoid { // the account no longer has all
				return errTooLate
			}
			return pay(a)
		})
	}
	replayed := err == nil && o.Once != nil && o.Once.Replayed
	if replayed || err != nil && fault.KindOf(err) != fault.Uncertain {
		_ = s.unlist(ctx, c, on, nil, t.MuxyID) // else a sweep does it
	}
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{Transaction: t, Balance: balance, Open: true}, nil
}

// enter lists a transaction, and those of the ids that its buyer has open and no page names.
func (s *Service) enter(ctx context.Context, c Channel, t Transaction, held []string) (on string, err error) {
	pages, on, err := s.list(ctx, c, t)
	if err == nil {
		err = s.relist(ctx, c, pages, held)
	}
	return on, err
}

// whereRoom opens a transaction, and again where its buyer has fewer open than it seemed.
func (s *Service) whereRoom(ctx context.Context, c Channel, t Transaction, open func() error) error {
	err := open()
	if errors.Is(err, errBuyerFull) {
		var a account
		if a, err = s.readAccount(ctx, c, t.buyer()); err == nil {
			err = s.forget(ctx, c, t.buyer(), a.Open)
		}
		if err == nil {
			err = open()
		}
	}
	return err
}

// repeat returns the receipt of an order that was stored before.
func (s *Service) repeat(ctx context.Context, c Channel, userID, name string) (r Receipt, err error) {
	a, err := s.readAccount(ctx, c, userID)
	if err != nil {
		return r, err
	}
	r.Balance = a.Coins.now
	at := slices.IndexFunc(a.Open, func(id string) bool { return strings.HasPrefix(id, name) })
	if at < 0 {
		return r, nil
	}
	t, _, err := s.find(ctx, c, a.Open[at])
	if fault.KindOf(err) == fault.NotFound {
		return r, nil
	}
	r.Transaction, r.Open = t, err == nil
	return r, err
}

// Balance returns the coins of a viewer in a channel.
func (s *Service) Balance(ctx context.Context, c Channel, userID string) (int64, error) {
	a, err := s.readAccount(ctx, c, userID)
	return a.Coins.now, err
}

// Open returns the open transactions of a product, or of all where sku is "*": the oldest
// first, and 10 at most.
func (s *Service) Open(ctx context.Context, c Channel, sku string) (shown []Transaction, err error) {
	pages, err := s.readPages(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		open, err := s.openOf(ctx, c, p)
		if err != nil {
			return nil, err
		}
		for _, t := range open {
			twice := slices.ContainsFunc(shown, func(other Transaction) bool { return other.MuxyID == t.MuxyID })
			if !twice && (sku == "*" || t.SKU == sku) {
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
	t, p, err := s.find(ctx, c, id)
	if err != nil {
		return err
	}
	return s.finish(ctx, c, p, t, 0)
}

// Refund closes the newest open transaction of a buyer with that id or, where id is empty,
// for that product, and gives its coins back. Bits cannot be returned.
func (s *Service) Refund(ctx context.Context, c Channel, userID, id, sku string) error {
	find := func() (Transaction, page, error) { return s.find(ctx, c, id) }
	if id == "" {
		find = func() (Transaction, page, error) { return s.findNewest(ctx, c, userID, sku) }
	}
	t, p, err := find()
	switch {
	case err != nil:
		return err
	case t.UserID != userID:
		return errNoTransaction()
	case t.Currency == Bits:
		return fault.New(fault.Invalid, "Bits cannot be returned")
	}
	return s.finish(ctx, c, p, t, int64(t.Cost))
}

// finish closes an open transaction and gives its buyer coins back.
func (s *Service) finish(ctx context.Context, c Channel, p page, t Transaction, coins int64) error {
	return either(func() error {
		err := s.change(ctx, c, t.buyer(), nil, func(a *account) error {
			if !slices.Contains(a.Open, t.MuxyID) {
				return errNoTransaction()
			}
			a.forget(t.MuxyID)
			a.Coins.now += coins
			return nil
		})
		if err == nil {
			_ = s.unlist(ctx, c, p.name, nil, t.MuxyID) // it is closed: else the next reader or a sweep does it
		}
		return err
	}, func() error { return s.closeEarly(ctx, c, p, t, coins) })
}

// withoutIndex returns the refusal of one of several edits.
func withoutIndex(err error) error {
	if refused, ok := errors.AsType[*document.EditError](err); ok {
		return refused.Err
	}
	return err
}

func errNoTransaction() error { return fault.New(fault.NotFound, "No such transaction") }

// ViewerOf returns the id of the viewer of a purchase that a document with a name is about,
// empty for other documents. body is asked for where the name does not tell.
func ViewerOf(name string, body func() ([]byte, error)) (string, error) {
	n, err := key.Parse(name)
	switch {
	case err != nil:
		return "", nil //nolint:nilerr // it is no purchase's
	case n.Scope == key.CoinBalance:
		return n.ID, nil
	case n.Scope != key.OpenPurchase:
		return "", nil
	}
	stored, err := body()
	if err != nil || stored == nil {
		return "", err
	}
	var t Transaction
	err = json.Unmarshal(stored, &t)
	return t.UserID, err
}
