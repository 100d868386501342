package purchase_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/purchase"
)

const (
	ofBuyerText   = "Too many open purchases of this viewer; nothing was stored"
	ofChannelText = "Too many open purchases in this channel; nothing was stored"
)

// newStoredShop returns a shop and its documents.
func newStoredShop(t *testing.T) (shop, *document.Service) {
	documents := document.NewService(storetest.NewMemory(), storetest.Hasty{}, document.Options{})
	return shop{t, purchase.NewService(documents, nil)}, documents
}

// bitsOf returns a transaction of a bit of a buyer.
func bitsOf(user, id string) purchase.Transaction {
	t := bits(id, 1)
	t.UserID = user
	return t
}

func (s shop) mustRecord(transactions ...purchase.Transaction) {
	s.Helper()
	for _, t := range transactions {
		if _, isNew, err := s.Record(s.Context(), channel, t); err != nil || !isNew {
			s.Fatalf("%s: new %t, %v", t.ID, isNew, err)
		}
	}
}

// crowd records n transactions of as many buyers. Their ids are 0 to n-1.
func (s shop) crowd(n int) {
	s.Helper()
	for i := range n {
		s.mustRecord(bitsOf(fmt.Sprint("buyer-", i), fmt.Sprint(i)))
	}
}

func (s shop) refused(err error, reason string) {
	s.Helper()
	if fault.KindOf(err) != fault.RateLimited || err.Error() != reason {
		s.Errorf("%v, want %q", err, reason)
	}
}

// validateAll validates open transactions of all products until none is left. It returns
// their ids in the order in which games read them.
func (s shop) validateAll() (ids []string) {
	s.Helper()
	for {
		open, err := s.Open(s.Context(), channel, "*")
		if err != nil || len(open) == 0 {
			if err != nil {
				s.Error(err)
			}
			return ids
		}
		for _, t := range open {
			ids = append(ids, t.ID)
			if err := s.Validate(s.Context(), channel, t.MuxyID); err != nil {
				s.Fatal(err)
			}
		}
	}
}

// While the game is away, no paid transaction is lost: neither to a crowd nor to one buyer.
func TestBitsFillPages(t *testing.T) {
	s := newShop(t)
	s.crowd(2*256 + 3)
	s.mustRecord(bits("last", 1))
	if ids := s.validateAll(); len(ids) != 2*256+4 || ids[0] != "0" || ids[300] != "300" || ids[len(ids)-1] != "last" {
		t.Errorf("%d transactions: %v", len(ids), ids)
	}
	s.mustRecord(bits("after", 1))
	s.isOpen("*", "spoons")
}

// A full channel takes no coins: of an order with a key, of one without, and of its repetition.
func TestFullChannelRefusesCoins(t *testing.T) {
	s := newShop(t)
	s.mustRecord(bits("tx", 30))
	first := s.buy(withKey("a", "life"), 20, false, true)
	s.crowd(254)
	for _, o := range []purchase.Order{life(), withKey("b", "life")} {
		_, err := s.Spend(t.Context(), channel, o, noon)
		s.refused(err, ofChannelText)
	}
	s.has(20)
	s.buy(withKey("a", "life"), 20, true, true) // it was bought before
	if err := s.Refund(t.Context(), channel, "5", first.MuxyID, ""); err != nil {
		t.Error(err)
	}
	s.has(30)
	s.buy(withKey("b", "life"), 20, false, true)
}

// A buyer has 32 open purchases for coins, from however many windows, and those of others
// stay as they are.
func TestOneBuyerOfManyThings(t *testing.T) {
	s := newShop(t)
	paid := bitsOf("8001", "paid")
	s.mustRecord(paid, bits("tx", 1000))
	var bought atomic.Int32
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			switch _, err := s.Spend(t.Context(), channel, life(), noon); {
			case err == nil:
				bought.Add(1)
			default:
				s.refused(err, ofBuyerText)
			}
		})
	}
	all.Wait()
	if bought.Load() != 31 { // beside the transaction of bits
		t.Errorf("%d were bought", bought.Load())
	}
	s.has(1000 - 310)
	s.mustRecord(bits("more", 1))
	open := s.isOpen("spoons", "spoons", "spoons", "spoons")
	if open[0].ID != "paid" {
		t.Errorf("the first is %+v", open[0])
	}
	if err := s.Refund(t.Context(), channel, "5", "", "life"); err != nil {
		t.Error(err)
	}
	if err := s.Validate(t.Context(), channel, open[1].MuxyID); err != nil {
		t.Error(err)
	}
	if _, err := s.Spend(t.Context(), channel, life(), noon); err != nil {
		t.Error("there is room again:", err)
	}
}

// Bits of one buyer are refused where one would fill the channel. A repetition is not.
func TestBitsOfOneBuyer(t *testing.T) {
	s := newShop(t)
	for n := range 256 {
		s.mustRecord(bits(fmt.Sprint(n), 1))
	}
	_, _, err := s.Record(t.Context(), channel, bits("256", 1))
	s.refused(err, ofBuyerText)
	if _, isNew, err := s.Record(t.Context(), channel, bits("7", 1)); isNew || err != nil {
		t.Errorf("the repetition: new %t, %v", isNew, err)
	}
	s.has(256)
	s.mustRecord(bitsOf("6", "other"))
	s.validateAll()
	s.mustRecord(bits("256", 1))
}

// stored is the name of a document of the channel.
func stored(scope key.Scope, id string) string {
	return key.Name{Kind: key.Document, Environment: "production", Extension: "ext", Scope: scope, Channel: "77", ID: id}.String()
}

// put stores a document as another version does.
func put(t *testing.T, documents *document.Service, name string, value any) {
	t.Helper()
	body, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	change, err := document.Replace(body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := documents.Edit(t.Context(), document.Edit{Key: name, Change: change}); err != nil {
		t.Fatal(err)
	}
}

// The pages of a channel have an end. Nothing is lost there either.
func TestFullPages(t *testing.T) {
	s, documents := newStoredShop(t)
	ids := make([]string, 256)
	for n := range ids {
		ids[n] = fmt.Sprint("x", n)
		put(t, documents, stored(key.OpenPurchase, ids[n]), purchase.Transaction{MuxyID: ids[n], SKU: "spoons", UserID: "6", Currency: purchase.Bits, Additional: json.RawMessage("{}")})
	}
	for n := range 64 {
		name := stored(key.OpenPurchases, "")
		if n > 0 {
			name = stored(key.OpenPurchase, fmt.Sprint("page-", n))
		}
		put(t, documents, name, map[string][]string{"ids": ids})
	}
	_, _, err := s.Record(t.Context(), channel, bits("tx", 1))
	s.refused(err, ofChannelText)
	s.has(0)
	for _, id := range ids { // erased with their buyer
		if err := documents.Delete(t.Context(), stored(key.OpenPurchase, id)); err != nil {
			t.Fatal(err)
		}
	}
	s.mustRecord(bits("tx", 1))
	s.has(1)
	s.isOpen("*", "spoons")
}

// Erased transactions take no room.
func TestErasedTransactions(t *testing.T) {
	s, documents := newStoredShop(t)
	s.crowd(256)
	s.mustRecord(bits("tx", 30))
	erase := func(scope key.Scope, id string) {
		name := key.Name{Kind: key.Document, Environment: "production", Extension: "ext", Scope: scope, Channel: "77", ID: id}
		if err := documents.Delete(t.Context(), name.String()); err != nil {
			t.Error(err)
		}
	}
	open, err := s.Open(t.Context(), channel, "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range open {
		erase(key.OpenPurchase, o.MuxyID)
		erase(key.CoinBalance, o.UserID)
	}
	if err := s.Validate(t.Context(), channel, open[0].MuxyID); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	if next, err := s.Open(t.Context(), channel, "*"); err != nil || len(next) != 10 || next[0].ID != "10" {
		t.Errorf("%v %+v", err, next)
	}
	if _, err := s.Spend(t.Context(), channel, life(), noon); err != nil {
		t.Error(err)
	}
}

// The version before this one keeps no list of a buyer's transactions, and leaves one.
func TestClosedByEarlierVersion(t *testing.T) {
	s, documents := newStoredShop(t)
	s.mustRecord(bits("tx", 1000))
	for range 31 {
		if _, err := s.Spend(t.Context(), channel, life(), noon); err != nil {
			t.Fatal(err)
		}
	}
	name := key.Name{Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.OpenPurchase, Channel: "77", ID: s.isOpen("spoons", "spoons")[0].MuxyID}
	if err := documents.Delete(context.Background(), name.String()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Spend(t.Context(), channel, life(), noon); err != nil {
		t.Error(err)
	}
	_, err := s.Spend(t.Context(), channel, life(), noon)
	s.refused(err, ofBuyerText)
}

// The client sends the name of a buyer, and the transaction says so. That of a transaction which the
// version before this one has stored does, too.
func TestUnverifiedNames(t *testing.T) {
	s, documents := newStoredShop(t)
	named := bits("tx", 1)
	named.Username = "xQc"
	if recorded, _, err := s.Record(t.Context(), channel, named); err != nil || string(recorded.Additional) != `{"username_unverified":true}` {
		t.Errorf("%+v, %v", recorded, err)
	}
	s.mustRecord(bits("unnamed", 1))
	open := s.isOpen("*", "spoons", "spoons")
	put(t, documents, stored(key.OpenPurchase, open[0].MuxyID),
		purchase.Transaction{MuxyID: open[0].MuxyID, SKU: "spoons", UserID: "5", Username: "xQc", Additional: json.RawMessage("{}")})
	for n, want := range []string{`{"username_unverified":true}`, `{}`} {
		if got := string(s.isOpen("*", "spoons", "spoons")[n].Additional); got != want {
			t.Errorf("%d has %s", n, got)
		}
	}
}
