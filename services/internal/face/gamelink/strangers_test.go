package gamelink

import (
	"net/netip"
	"testing"
	"time"
)

// An address has 16 places. When all are taken, the address with most connections gives up that
// which has been silent for longest, and a game alone at its address keeps its place.
func TestStrangerTable(t *testing.T) {
	var now time.Time
	address := func(n byte) netip.Prefix { return netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, n}), 32) }
	table := newStrangerTable(20)
	add := func(n byte) (c, displaced *connection) {
		now = now.Add(time.Second)
		c = &connection{client: address(n)}
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
	if table.hasRoom(address(2)) || !table.hasRoom(address(3)) || !table.hasRoom(netip.Prefix{}) {
		t.Error("an address may have 16 connections, an unknown one any number")
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
