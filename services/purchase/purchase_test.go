package purchase_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/purchase"
)

var (
	channel = purchase.Channel{Environment: "production", Extension: "ext", ID: "77"}
	noon    = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
)

// shop is a service with its test.
type shop struct {
	*testing.T
	*purchase.Service
}

func newShop(t *testing.T) shop {
	return shop{t, purchase.NewService(document.NewService(storetest.NewMemory(), storetest.Hasty{}, document.Options{}), nil)}
}

func bits(id string, cost int32) purchase.Transaction {
	return purchase.Transaction{ID: id, SKU: "spoons", UserID: "5", Cost: cost, Timestamp: 1, Additional: json.RawMessage("{}")}
}

func life() purchase.Order {
	return purchase.Order{Transaction: purchase.Transaction{SKU: "life", UserID: "5", Cost: 10, Additional: json.RawMessage("{}")}}
}

func (s shop) has(coins int64) {
	s.Helper()
	if got, err := s.Balance(s.Context(), channel, "5"); err != nil || got != coins {
		s.Errorf("%d coins, %v, want %d", got, err, coins)
	}
}

// isOpen checks the products of the open transactions.
func (s shop) isOpen(sku string, want ...string) []purchase.Transaction {
	s.Helper()
	open, err := s.Open(s.Context(), channel, sku)
	var got []string
	for _, t := range open {
		got = append(got, t.SKU)
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		s.Errorf("%v (-want +got):\n%s", err, diff)
	}
	return open
}

// Section 4.12, rule 2: a transaction of bits gives coins once, however often and from
// however many windows it is sent.
func TestBitsCountOnce(t *testing.T) {
	s := newShop(t)
	var created atomic.Int32
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if _, isNew, err := s.Record(t.Context(), channel, bits("tx", 60)); err != nil {
				t.Error(err)
			} else if isNew {
				created.Add(1)
			}
		})
	}
	all.Wait()
	if created.Load() != 1 {
		t.Errorf("%d were new", created.Load())
	}
	s.has(60)
	s.isOpen("*", "spoons")
}

// A viewer never spends more than there is, with any number of windows.
func TestCoinsAreSpentOnce(t *testing.T) {
	s := newShop(t)
	if _, _, err := s.Record(t.Context(), channel, bits("tx", 35)); err != nil {
		t.Fatal(err)
	}
	var bought atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			switch r, err := s.Spend(t.Context(), channel, life(), noon); {
			case err == nil && r.Balance >= 0 && r.Open:
				bought.Add(1)
			case fault.KindOf(err) != fault.Invalid || err.Error() != "Not enough coins":
				t.Error(r, err)
			}
		})
	}
	all.Wait()
	if bought.Load() != 3 {
		t.Errorf("%d bought", bought.Load())
	}
	s.has(5)
	s.isOpen("life", "life", "life", "life")
	if got, err := s.Balance(t.Context(), purchase.Channel{Environment: "production", Extension: "ext", ID: "78"}, "5"); got != 0 || err != nil {
		t.Errorf("%d coins in another channel, %v", got, err)
	}
}

// A game validates or refunds a transaction once.
func TestOpenTransactions(t *testing.T) {
	s := newShop(t)
	ctx := t.Context()
	if _, _, err := s.Record(ctx, channel, bits("tx", 60)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.Spend(ctx, channel, life(), noon); err != nil {
			t.Fatal(err)
		}
	}
	open := s.isOpen("*", "spoons", "life", "life")
	if bought := open[1]; bought.Currency != purchase.Coins || bought.Timestamp != noon.UnixMilli() || bought.ID == "" || bought.MuxyID == open[2].MuxyID {
		t.Errorf("%+v", bought)
	}
	if err := s.Refund(ctx, channel, "5", open[0].MuxyID, ""); fault.KindOf(err) != fault.Invalid {
		t.Error("bits were returned", err)
	}
	if err := s.Refund(ctx, channel, "6", "", "life"); fault.KindOf(err) != fault.NotFound {
		t.Error("another viewer's coins were returned", err)
	}
	if err := s.Refund(ctx, channel, "5", "", "life"); err != nil { // the newest
		t.Error(err)
	}
	s.has(50)
	if left := s.isOpen("life", "life"); left[0].MuxyID != open[1].MuxyID {
		t.Errorf("%+v", left)
	}
	if err := s.Validate(ctx, channel, open[1].MuxyID); err != nil {
		t.Error(err)
	}
	for _, err := range []error{s.Validate(ctx, channel, open[1].MuxyID), s.Refund(ctx, channel, "5", open[1].MuxyID, "")} {
		if fault.KindOf(err) != fault.NotFound {
			t.Error(err)
		}
	}
	s.has(50)
	s.isOpen("*", "spoons")
}

// withKey returns an order of a life with a key. The digest of its request is that of body.
func withKey(key, body string) purchase.Order {
	o := life()
	o.Once = once.NewScope([][]byte{[]byte("secret")}, noon, o.Transaction.UserID).NewKey(key, []byte(body))
	return o
}

// buy sends an order and checks its receipt.
func (s shop) buy(o purchase.Order, balance int64, replayed, open bool) purchase.Transaction {
	s.Helper()
	r, err := s.Spend(s.Context(), channel, o, noon)
	if err != nil || r.Balance != balance || o.Once.Replayed != replayed || r.Open != open {
		s.Errorf("%+v, replayed %t, %v", r, o.Once.Replayed, err)
	}
	return r.Transaction
}

// Section 1.4: an order that is repeated with its key buys once, whatever has changed since.
func TestRepeatedOrder(t *testing.T) {
	s, ctx := newShop(t), t.Context()
	refused := func(o purchase.Order, want fault.Kind) {
		t.Helper()
		if r, err := s.Spend(ctx, channel, o, noon); fault.KindOf(err) != want {
			t.Errorf("%+v, %v", r, err)
		}
	}
	refused(withKey("a", "life"), fault.Invalid) // a refusal is not kept
	if _, _, err := s.Record(ctx, channel, bits("tx", 30)); err != nil {
		t.Fatal(err)
	}
	first := s.buy(withKey("a", "life"), 20, false, true)
	if again := s.buy(withKey("a", "life"), 20, true, true); !cmp.Equal(first, again) {
		t.Errorf("%+v, and then %+v", first, again)
	}
	dearer := withKey("a", "life")
	dearer.Refusal = fault.New(fault.Invalid, "The price has changed")
	s.buy(dearer, 20, true, true)
	dearer = withKey("b", "life")
	dearer.Refusal = fault.New(fault.Invalid, "The price has changed")
	refused(dearer, fault.Invalid)
	refused(withKey("a", "other"), fault.Reused)
	if second := s.buy(withKey("b", "life"), 10, false, true); second.MuxyID == first.MuxyID {
		t.Errorf("both orders have the id %s", second.MuxyID)
	}
	if err := s.Validate(ctx, channel, first.MuxyID); err != nil {
		t.Fatal(err)
	}
	s.buy(withKey("a", "life"), 10, true, false)
	if _, err := s.Spend(ctx, channel, life(), noon); err != nil { // without a key
		t.Fatal(err)
	}
	s.buy(withKey("b", "life"), 0, true, true)
	s.isOpen("life", "life", "life")
}

// unreliable is a store that loses requests and answers, by chance.
type unreliable struct{ *storetest.Memory }

func (u unreliable) Get(ctx context.Context, keys ...string) ([]document.Document, error) {
	if rand.IntN(8) == 0 {
		return nil, errors.New("connection lost")
	}
	return u.Memory.Get(ctx, keys...)
}

func (u unreliable) Put(ctx context.Context, writes ...document.Write) error {
	if rand.IntN(4) == 0 {
		return errors.New("connection lost")
	}
	if err := u.Memory.Put(ctx, writes...); err != nil || rand.IntN(4) > 0 {
		return err
	}
	return errors.New("connection lost")
}

// Several processes repeat orders with their keys until they have an answer, over a store
// that loses requests and answers. Each order has its effect once, all of it.
func TestBlindRepeaters(t *testing.T) {
	const orders, processes = 9, 3
	memory := storetest.NewMemory()
	reliable := shop{t, purchase.NewService(document.NewService(memory, storetest.Hasty{}, document.Options{}), nil)}
	if _, _, err := reliable.Record(t.Context(), channel, bits("tx", 10*orders+5)); err != nil {
		t.Fatal(err)
	}
	if err := reliable.Validate(t.Context(), channel, reliable.isOpen("*", "spoons")[0].MuxyID); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var fresh atomic.Int32
	for range processes {
		s := purchase.NewService(document.NewService(unreliable{memory}, storetest.Hasty{}, document.Options{}), nil)
		for n := range orders {
			all.Go(func() {
				for range 3 { // however often it is answered
					o := withKey(fmt.Sprint(n), "life")
					for {
						_, err := s.Spend(t.Context(), channel, o, noon)
						if err == nil || t.Context().Err() != nil {
							break
						}
						if fault.KindOf(err) == fault.Invalid {
							t.Error(err)
							return
						}
					}
					if !o.Once.Replayed {
						fresh.Add(1)
					}
				}
			})
		}
	}
	all.Wait()
	if fresh.Load() > orders {
		t.Errorf("%d orders were answered as new", fresh.Load())
	}
	reliable.has(5)
	reliable.isOpen("*", slices.Repeat([]string{"life"}, orders)...)
}
