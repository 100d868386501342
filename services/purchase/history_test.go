package purchase_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/purchase"
)

// market is a channel with buyers and games, whose requests go to processes over one store,
// and the sequential model of what they may come to: the coins of a buyer are those that were
// granted without what the validated purchases cost.
type market struct {
	*testing.T
	// reliable are the documents of the store without its faults.
	reliable *document.Service
	// serve starts the process of a place; kill ends it, or is nil where none ends.
	serve func(place int) (documents *document.Service, kill func())
	// joined says from which process on all are known to read the accounts of this version.
	joined atomic.Int32

	mu        sync.Mutex
	rng       *rand.Rand
	processes []*purchase.Service
	kill      []func()
	granted   map[string]int64
	recorded  map[string]int // transactions of bits, by buyer
	bought    map[string]int // orders that were acknowledged, by buyer
	unknown   map[string]int // orders of unknown outcome
	seen      map[string]purchase.Transaction
	refunds   map[string]bool // what the first game does with a transaction, or the one that closed it
	disputed  map[string]bool // the second game does the opposite
	closed    map[string]int  // acknowledgements
	shopping  atomic.Int32    // buyers
	uncertain atomic.Int32    // answers
}

var buyers = []string{"ann", "bob", "cy"}

func newMarket(t *testing.T, seed uint64, reliable *document.Service, serve func(place int) (*document.Service, func())) *market {
	m := &market{
		T: t, rng: rand.New(rand.NewPCG(seed, 1)), reliable: reliable, serve: serve,
		processes: make([]*purchase.Service, 3), kill: make([]func(), 3),
		granted: map[string]int64{}, recorded: map[string]int{}, bought: map[string]int{}, unknown: map[string]int{},
		seen: map[string]purchase.Transaction{}, refunds: map[string]bool{}, disputed: map[string]bool{}, closed: map[string]int{},
	}
	for place := range m.processes {
		m.start(place)
	}
	return m
}

func (m *market) start(place int) {
	documents, kill := m.serve(place)
	m.kill[place] = kill
	m.processes[place] = purchase.NewService(documents, func() bool { return int(m.joined.Load()) > place })
}

// any returns a process. Some are killed just then, and replaced.
func (m *market) any() *purchase.Service {
	m.mu.Lock()
	defer m.mu.Unlock()
	place := m.rng.IntN(len(m.processes))
	if m.rng.IntN(25) == 0 && m.kill[place] != nil {
		m.kill[place]()
		m.start(place)
	}
	return m.processes[place]
}

func (m *market) chance(n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rng.IntN(n) == 0
}

// settled repeats a request until its outcome is known, and reports whether one was not.
func (m *market) settled(do func() error) (doubt bool, err error) {
	for {
		switch err = do(); fault.KindOf(err) {
		case fault.Uncertain:
			doubt = true
			m.uncertain.Add(1)
		case fault.Unavailable, fault.Storage:
		default:
			return doubt, err
		}
	}
}

// shop has a buyer pay bits and buy things, with keys and without. The numbers tell them from
// what another window of the buyer does.
func (m *market) shop(user string, from, to int) {
	defer m.shopping.Add(-1)
	for n := from; n < to; n++ {
		switch {
		case n%4 == 0:
			m.record(user, fmt.Sprint(user, n), 30, m.any)
		case m.chance(3):
			_, err := m.any().Spend(m.Context(), channel, orderOf(user), noon)
			m.ordered(user, fault.KindOf(err) == fault.Uncertain, err)
		default:
			doubt, err := m.settled(func() error {
				o := orderOf(user)
				o.Once = once.NewScope([][]byte{[]byte("secret")}, noon, user).NewKey(fmt.Sprint(n), nil)
				_, err := m.any().Spend(m.Context(), channel, o, noon)
				return err
			})
			m.ordered(user, doubt && err != nil, err)
		}
	}
}

// record has a buyer pay bits.
func (m *market) record(user, id string, cost int32, by func() *purchase.Service) {
	t := bits(id, cost)
	t.UserID = user
	if _, err := m.settled(func() error { _, _, err := by().Record(m.Context(), channel, t); return err }); err != nil {
		m.Errorf("record: %v", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.granted[user] += int64(cost)
	m.recorded[user]++
}

func orderOf(user string) purchase.Order {
	o := life()
	o.Transaction.UserID = user
	return o
}

func (m *market) ordered(user string, doubt bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		m.bought[user]++
	case doubt:
		m.unknown[user]++
		m.uncertain.Add(1)
	case fault.KindOf(err) == fault.Internal:
		m.Errorf("spend: %v", err)
	}
}

// play has a game close what is open until nothing is left.
func (m *market) play(game int) {
	for {
		last := m.shopping.Load() == 0
		var open []purchase.Transaction
		if _, err := m.settled(func() (err error) { open, err = m.any().Open(m.Context(), channel, "*"); return err }); err != nil {
			m.Errorf("open: %v", err)
		}
		for _, t := range open {
			m.close(game, t)
		}
		if last && len(open) == 0 {
			return
		}
	}
}

// close has a game validate or refund a transaction.
func (m *market) close(game int, t purchase.Transaction) {
	m.mu.Lock()
	if _, ok := m.seen[t.MuxyID]; !ok {
		coins := t.Currency == purchase.Coins
		m.seen[t.MuxyID], m.refunds[t.MuxyID], m.disputed[t.MuxyID] = t, coins && m.rng.IntN(2) == 0, coins && m.rng.IntN(3) == 0
	}
	refund := m.refunds[t.MuxyID] != (game == 1 && m.disputed[t.MuxyID])
	m.mu.Unlock()
	_, err := m.settled(func() error {
		if refund {
			return m.any().Refund(m.Context(), channel, t.UserID, t.MuxyID, "")
		}
		return m.any().Validate(m.Context(), channel, t.MuxyID)
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		m.closed[t.MuxyID]++
		m.refunds[t.MuxyID], m.disputed[t.MuxyID] = refund, false
	case fault.KindOf(err) != fault.NotFound:
		m.Errorf("close: %v", err)
	}
}

// visits returns what everyone does, at once: each buyer at a number of windows. Two games
// leave when all is closed.
func (m *market) visits(windows int) []func() {
	m.shopping.Store(int32(len(buyers) * windows))
	all := []func(){func() { m.play(0) }, func() { m.play(1) }}
	for _, user := range buyers {
		for w := range windows {
			all = append(all, func() { m.shop(user, 8/windows*w, 8/windows*(w+1)) })
		}
	}
	return all
}

// open has everyone come, and leave when all is closed.
func (m *market) open(store *faultyStore) {
	for _, visit := range m.visits(1) {
		go visit()
	}
	// The last process of the version before leaves, and each sees that at a time of its own.
	go func() {
		for littered := 0; m.shopping.Load() > 0; {
			_, _ = m.any().Balance(m.Context(), channel, "ann")
			switch {
			case m.joined.Load() == int32(len(m.processes)) && littered < 2 && m.chance(8):
				m.litter()
				littered++
			case m.joined.Load() < int32(len(m.processes)) && m.chance(8):
				m.joined.Add(1)
			}
		}
		m.joined.Store(int32(len(m.processes)))
	}()
	store.run()
	store.mu.Lock()
	for len(store.late) > 0 {
		store.arrive()
	}
	store.mu.Unlock()
	go m.play(0) // what has arrived since
	store.run()
}

// check compares what is left with the model.
func (m *market) check() {
	m.Helper()
	cost, disputed, count, paid := map[string]int64{}, map[string][]int64{}, map[string]int{}, map[string]int{}
	for id, t := range m.seen {
		if m.closed[id] > 1 {
			m.Errorf("%s was closed %d times", id, m.closed[id])
		}
		if t.Currency != purchase.Coins {
			paid[t.UserID]++
			continue
		}
		switch count[t.UserID]++; {
		case m.disputed[id]: // neither game knows which of the two was first
			disputed[t.UserID] = append(disputed[t.UserID], int64(t.Cost))
		case !m.refunds[id]:
			cost[t.UserID] += int64(t.Cost)
		}
	}
	for _, user := range buyers {
		have, err := purchase.NewService(m.reliable, nil).Balance(context.Background(), channel, user)
		want := []int64{m.granted[user] - cost[user]}
		for _, either := range disputed[user] {
			for _, coins := range want {
				want = append(want, coins-either)
			}
		}
		if err != nil || !slices.Contains(want, have) {
			m.Errorf("%s has %d coins, %v; was granted %d, and what was validated cost %d, and %d is unknown", user, have, err, m.granted[user], cost[user], disputed[user])
		}
		if n := count[user] - m.bought[user]; n < 0 || n > m.unknown[user] {
			m.Errorf("%s bought %d things: %d were acknowledged and %d are unknown", user, count[user], m.bought[user], m.unknown[user])
		}
		if paid[user] != m.recorded[user] {
			m.Errorf("%s paid %d times, and games saw %d", user, m.recorded[user], paid[user])
		}
	}
}

// stock stores what the version before this one may leave: coins and open transactions.
func (m *market) stock() {
	var early []string
	for n := range 6 {
		t := bits(fmt.Sprint("early-", n), 7)
		t.MuxyID, t.UserID, t.Currency = t.ID, buyers[n%3], purchase.Coins
		put(m.T, m.reliable, stored(key.OpenPurchase, t.ID), t)
		early = append(early, t.ID)
		m.granted[t.UserID] += int64(t.Cost)
		m.bought[t.UserID]++
	}
	for _, user := range buyers {
		put(m.T, m.reliable, stored(key.CoinBalance, user), json.RawMessage(`{"coins":40}`))
		m.granted[user] += 40
	}
	put(m.T, m.reliable, stored(key.OpenPurchases, ""), map[string][]string{"ids": early})
}

// litter fills a page with purchases that were given up before they were paid.
func (m *market) litter() {
	page, err := document.ReadRecord[map[string][]string](m.Context(), m.reliable, stored(key.OpenPurchase, "list-0"))
	if err != nil {
		m.Error(err)
	}
	ids := page["ids"]
	for n := 0; len(ids) < 255; n++ {
		t := bits(fmt.Sprint("given-up-", n), 5)
		t.MuxyID, t.UserID, t.Currency = t.ID, append(buyers, "dee")[n%4], purchase.Coins
		put(m.T, m.reliable, stored(key.OpenPurchase, t.ID), t)
		if !slices.Contains(ids, t.ID) {
			ids = append(ids, t.ID)
		}
	}
	put(m.T, m.reliable, stored(key.OpenPurchase, "list-0"), map[string][]string{"ids": ids})
}

// Coins are exact whatever fails, with transactions and without, while the accounts of the
// version before are taken over.
func TestHistories(t *testing.T) {
	for seed := range uint64(10) {
		for name, transactions := range map[string]bool{"a replica set": true, "a server without transactions": false} {
			t.Run(fmt.Sprint(name, "/", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &faultyStore{Memory: storetest.NewMemory(), transactions: transactions, rng: rand.New(rand.NewPCG(seed, 2))}
					m := newMarket(t, seed, document.NewService(store.Memory, storetest.Hasty{}, document.Options{}), func(int) (*document.Service, func()) {
						p := &storeProcess{store: store}
						return document.NewService(p, storetest.Hasty{}, document.Options{}), p.kill
					})
					if seed%2 == 0 {
						m.stock()
					}
					if !transactions || seed%4 == 1 {
						m.joined.Store(3)
					}
					m.open(store)
					m.check()
				})
			})
		}
	}
}
