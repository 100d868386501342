package pairing_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/pairing"
)

// endingStore stands for a process that ends after some writes.
type endingStore struct {
	document.Store
	left    int             // writes until it ends
	indexes map[string]bool // of PINs that are stored
}

func (s *endingStore) Put(ctx context.Context, writes ...document.Write) error {
	if s.left == 0 {
		return fault.Wrap(fault.Storage, errors.New("the process ends"), "ended")
	}
	s.left--
	for _, w := range writes {
		if strings.Contains(w.Key, "/pairing/pin/") {
			s.indexes[w.Key] = true
		}
	}
	return s.Store.Put(ctx, writes...)
}

func (s *endingStore) Delete(ctx context.Context, key string) error {
	delete(s.indexes, key)
	return s.Store.Delete(ctx, key)
}

// newEndingDesk returns a desk over a store that goes on until it is set to end.
func newEndingDesk(t *testing.T) (*desk, *endingStore) {
	store := &endingStore{storetest.NewMemory(), -1, map[string]bool{}}
	return &desk{t, pairing.NewService(document.NewService(store, storetest.Hasty{}, document.Options{}), nil), noon}, store
}

// What a process leaves that ends between the two writes of a PIN takes no space once PINs are over.
func TestPINsOfAProcessThatEnds(t *testing.T) {
	d, store := newEndingDesk(t)
	store.left = 1
	pin, err := d.CreatePIN(t.Context(), channel, by, d.now)
	if err == nil {
		t.Fatal("the process has not ended")
	}
	store.left = -1
	_, err = d.UsePIN(t.Context(), owner, pin, keys, d.now)
	d.refused(err, fault.Invalid, badPIN)
	if len(store.indexes) != 0 {
		t.Errorf("an index is left: %v", store.indexes)
	}
	d.now = d.now.Add(contract.PINLifetime)
	g, err := d.UsePIN(t.Context(), owner, d.newPIN("broadcaster"), keys, d.now)
	if d.must(err); g.Channel != channel.ID || len(store.indexes) != 0 {
		t.Errorf("%+v, and an index is left: %v", g, store.indexes)
	}
}

// However PINs end, nothing of them stays.
func TestIndexesEndWithPINs(t *testing.T) {
	for name, end := range map[string]func(d *desk){
		"used": func(d *desk) { d.newPIN("broadcaster"); d.pair(); d.now = d.now.Add(time.Hour); d.pair() },
		"replaced": func(d *desk) {
			for range 3 * contract.MaxPINs {
				d.newPIN("broadcaster")
			}
			d.now = d.now.Add(time.Hour)
			d.pair()
		},
		"revoked": func(d *desk) { d.newPIN("broadcaster"); d.must(d.Revoke(d.Context(), channel)) },
		"over, when a game is paired and ended": func(d *desk) {
			g := d.pair()
			d.newPIN("broadcaster")
			d.now = d.now.Add(time.Hour)
			_, err := d.refresh(g.Refresh)
			d.must(err)
			d.must(d.EndGame(d.Context(), channel, g.Game, d.now))
			d.pair()
		},
	} {
		d, store := newEndingDesk(t)
		if end(d); len(store.indexes) != 0 {
			t.Errorf("%s: %d indexes are left", name, len(store.indexes))
		}
	}
}
