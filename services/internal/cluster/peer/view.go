package peer

import (
	"net/netip"
	"time"

	"github.com/cespare/xxhash/v2"
)

// A member whose heartbeat has not changed for aliveFor counts as gone, and one that
// is gone for forgetAfter is removed from the membership.
const (
	heartbeatInterval = time.Second
	aliveFor          = 4 * heartbeatInterval
	forgetAfter       = time.Minute
)

// memberView holds the members that are alive, as one member sees them at one time. It
// never changes.
type memberView struct {
	members []*knownMember
	digests map[string]bool    // of the certificates of members, gone ones included
	hosts   map[netip.Addr]int // members that advertise an address
	avoided map[string]bool    // members that some other alive one cannot reach
}

// knownMember is a member and the way to it.
type knownMember struct {
	Member
	hash    uint64
	changed time.Time   // when its heartbeat last changed
	link    *memberLink // nil to oneself
}

// nextView returns the view after the membership was read at a time. Links are kept for as
// long as their members are. gone lists the members to remove from the membership.
func (v *memberView) nextView(n *Node, members []Member, now time.Time) (after *memberView, gone []string) {
	before := map[string]*knownMember{}
	for _, k := range v.members {
		before[k.ID] = k
	}
	after = &memberView{digests: map[string]bool{}, hosts: map[netip.Addr]int{}, avoided: map[string]bool{}}
	for _, m := range members {
		after.digests[string(m.Digest)] = true
		if host, ok := hostOf(m.Address); ok {
			after.hosts[host]++
		}
		old := before[m.ID]
		k := &knownMember{Member: m, hash: xxhash.Sum64String(m.ID), changed: now}
		if old != nil {
			k.link = old.link
			if old.Heartbeat == m.Heartbeat {
				k.changed = old.changed
			}
		} else if m.ID != n.self.ID {
			k.link = newLink(n, m)
		}
		if now.Sub(k.changed) >= forgetAfter {
			gone = append(gone, m.ID)
		}
		if now.Sub(k.changed) < aliveFor {
			for _, id := range m.Unreachable {
				after.avoided[id] = true
			}
		}
		after.members = append(after.members, k)
	}
	return after, gone
}

// ownerOf returns the member that owns a stream, nil when no member serves it: of the
// members alive, the one whose hash with the stream's is highest. So streams move only
// from members that leave and to members that join.
func (v *memberView) ownerOf(stream string, now time.Time) (owner *knownMember) {
	name, highest := xxhash.Sum64String(stream), uint64(0)
	for _, k := range v.members {
		if now.Sub(k.changed) >= aliveFor || k.link != nil && k.link.left.Load() || !k.servesStream(stream) {
			continue
		}
		if weight := mixBits(name ^ k.hash); owner == nil || weight > highest {
			owner, highest = k, weight
		}
	}
	return owner
}

// mixBits spreads the bits of x over all of the result (the finalizer of
// SplitMix64).
func mixBits(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
