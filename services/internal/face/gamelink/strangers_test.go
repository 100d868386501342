package gamelink

import (
	"net/netip"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
)

func addressOf(n byte) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, n}), 32)
}

// An address has 16 places. When all are taken, the address with most connections gives up that
// which has been silent for longest, and a game alone at its address keeps its place.
func TestStrangerTable(t *testing.T) {
	var now time.Time
	table := newStrangerTable(20)
	add := func(n byte) (c, displaced *connection) {
		now = now.Add(time.Second)
		c = &connection{client: addressOf(n)}
		return c, table.add(c, now)
	}
	honest, _ := add(1)
	first, _ := add(2)
	second, _ := add(2)
	for range 14 {
		if _, displaced := add(2); displaced != nil {
			t.Fatal("a connection is displaced while there is room")
		}
	}
	if table.hasRoom(addressOf(2)) || !table.hasRoom(addressOf(3)) {
		t.Error("an address may have 16 connections")
	}
	for range 3 {
		add(3)
	}
	table.touch(first, now.Add(time.Second))
	if _, displaced := add(4); displaced != second {
		t.Errorf("%v is displaced, want the one that is silent for longest", displaced)
	}
	for n := byte(5); n < 200; n++ {
		if _, displaced := add(n%14 + 5); displaced == honest {
			t.Fatal("a game alone at its address is displaced")
		}
	}
	if got := table.size(); got != 20 {
		t.Errorf("%d connections", got)
	}
	table.remove(honest)
	table.remove(honest)
	if got := table.size(); got != 19 {
		t.Errorf("%d connections after one has gone", got)
	}
}

// While all places are taken, an address has 16 connections that end another one, and then one a
// second. Others have as many, and connections of an unknown address have no such limit.
func TestDisplacementsOfAddress(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := New(Options{Unauthenticated: 1, Now: func() time.Time { return now }})
	admitted := func(client netip.Prefix) (n int) {
		for range 100 {
			if s.admit("ext", client) {
				n++
			}
		}
		return n
	}
	if n := admitted(addressOf(1)); n != 100 {
		t.Errorf("%d of 100 are admitted while there is room", n)
	}
	s.strangers.add(&connection{client: addressOf(9)}, now)
	for _, c := range []struct {
		client netip.Prefix
		after  time.Duration
		want   int
	}{
		{addressOf(1), 0, contract.MaxUnauthenticated},
		{addressOf(1), 2 * time.Second, 2 * contract.DisplacementsPerSecond},
		{addressOf(2), 0, contract.MaxUnauthenticated},
		{netip.Prefix{}, 0, 100},
	} {
		now = now.Add(c.after)
		if got := admitted(c.client); got != c.want {
			t.Errorf("%v after %v: %d of 100 are admitted, want %d", c.client, c.after, got, c.want)
		}
	}
}
