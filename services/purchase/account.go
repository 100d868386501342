package purchase

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// maxVoid limits the ids that an account keeps of purchases that were given up.
const maxVoid = 64

// account is the document of a buyer in a channel.
type account struct {
	Coins amount `json:"coins"`
	// Open has the ids of the buyer's open transactions. The account of an earlier version
	// may lack some, and have some that are closed.
	Open []string `json:"open,omitempty"`
	// Given has the ids of the transactions of bits whose receipts may not say yet that their
	// coins were given.
	Given []string `json:"given,omitempty"`
	// Void has ids that are not opened any more, the newest last.
	Void []string `json:"void,omitempty"`
	// Voids counts all that Void has ever had.
	Voids int64 `json:"voids,omitempty"`
}

// amount is a number of coins. In an account that decides alone what its buyer has open it is
// an object, so that the versions before this one refuse to read and to write the account.
type amount struct {
	now     int64
	decides bool
}

type decidingAmount struct {
	Now int64 `json:"now"`
}

func (a amount) MarshalJSON() ([]byte, error) {
	if a.decides {
		return json.Marshal(decidingAmount{a.now})
	}
	return json.Marshal(a.now)
}

func (a *amount) UnmarshalJSON(encoded []byte) error {
	if a.decides = bytes.HasPrefix(encoded, []byte("{")); !a.decides {
		return json.Unmarshal(encoded, &a.now)
	}
	var d decidingAmount
	err := json.Unmarshal(encoded, &d)
	a.now = d.Now
	return err
}

// buyer names the account of a transaction. One of bits may have no buyer.
func (t Transaction) buyer() string {
	if t.UserID == "" {
		return "transaction/" + t.ID
	}
	return t.UserID
}

// price returns what a transaction does to the coins of its buyer.
func (t Transaction) price() int64 {
	switch {
	case t.UserID == "":
		return 0
	case t.Currency == Bits:
		return int64(t.Cost)
	}
	return -int64(t.Cost)
}

// open changes the coins, which never fall below 0, and opens the transaction.
func (a *account) open(t Transaction) error {
	switch coins := a.Coins.now + t.price(); {
	case coins < 0:
		return fault.New(fault.Invalid, "Not enough coins")
	case len(a.Open) >= maxOpenOfBuyer(t.Currency):
		return errBuyerFull
	case slices.Contains(a.Void, t.MuxyID):
		return errTooLate
	default:
		a.Coins.now = coins
	}
	a.Open = append(a.Open, t.MuxyID)
	return nil
}

// errTooLate refuses a purchase that a sweep has given up, or may have.
var errTooLate = fault.New(fault.Unavailable, "The purchase took too long; nothing was stored")

// forget removes ids from those of open transactions.
func (a *account) forget(ids ...string) {
	a.Open = slices.DeleteFunc(a.Open, func(id string) bool { return slices.Contains(ids, id) })
}

var (
	// errEarly is seen where an account is one of the version before this one, and such a
	// process is alive.
	errEarly = fault.New(fault.Conflict, "The account is of an earlier version")
	// errDecides is the opposite.
	errDecides = fault.New(fault.Conflict, "The account is of this version")
)

// changes limits how often an account is read again after it has changed its version.
const changes = 20

// change changes the account of a buyer, which decides alone from then on. Its error is
// errEarly where processes are alive that could not read such an account.
func (s *Service) change(ctx context.Context, c Channel, buyer string, key *once.Key, do func(*account) error) error {
	edit := compute(c.account(buyer), func(a *account) error {
		if !a.Coins.decides {
			return errEarly
		}
		return do(a)
	})
	edit.Once = key
	for range changes {
		_, err := s.documents.Edit(ctx, edit)
		if !errors.Is(err, errEarly) || !s.peersRead() {
			return err
		}
		// The transactions and the change come into the account in one write.
		err = s.move(ctx, c, buyer, key, do)
		if fault.KindOf(err) != fault.Mismatch {
			return err
		}
	}
	return fault.New(fault.Unavailable, "The account is being changed too often")
}

// move is change for an account of the version before this one. It is fault.Mismatch where
// the account has changed meanwhile.
func (s *Service) move(ctx context.Context, c Channel, buyer string, key *once.Key, do func(*account) error) error {
	found, err := s.documents.Get(ctx, c.account(buyer))
	if err != nil {
		return err
	}
	open, err := s.earlyOf(ctx, c, buyer)
	if err != nil {
		return err
	}
	edit := compute(c.account(buyer), func(a *account) error {
		if !a.Coins.decides {
			a.Coins.decides, a.Open = true, slices.Clone(open)
		}
		return do(a)
	})
	edit.Match, edit.Once = &found[0].Version, key
	_, err = s.documents.Edit(ctx, edit)
	return err
}

// account returns the name of the account of a buyer.
func (c Channel) account(buyer string) string { return c.name(key.CoinBalance, buyer) }

// readAccounts returns the accounts of the buyers of transactions.
func (s *Service) readAccounts(ctx context.Context, c Channel, transactions []Transaction) (map[string]account, error) {
	accounts := map[string]account{}
	for _, t := range transactions {
		accounts[t.buyer()] = account{}
	}
	var names, buyers []string
	for buyer := range accounts {
		names, buyers = append(names, c.account(buyer)), append(buyers, buyer)
	}
	if len(names) == 0 {
		return accounts, nil
	}
	found, err := s.documents.Get(ctx, names...)
	for i, d := range found {
		if d.Version == 0 {
			continue
		}
		var a account
		if err := json.Unmarshal(d.Body, &a); err != nil {
			return nil, fault.Wrap(fault.Internal, err, "The stored document cannot be read")
		}
		accounts[buyers[i]] = a
	}
	return accounts, err
}

func (s *Service) readAccount(ctx context.Context, c Channel, buyer string) (account, error) {
	return document.ReadRecord[account](ctx, s.documents, c.account(buyer))
}
