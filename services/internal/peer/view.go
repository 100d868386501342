package peer

import (
	"time"

	"github.com/cespare/xxhash/v2"
)

// A member whose beat has not changed for aliveFor is taken for gone, and one
// that is gone for forgetAfter is removed from the registry.
const (
	beatEvery   = time.Second
	aliveFor    = 4 * beatEvery
	forgetAfter = time.Minute
)

// view is who is alive, as one member sees it at one time. It never changes.
type view struct {
	members []*known
	digests map[string]bool // of the certificates of members, gone ones included
	avoided map[string]bool // members that some other alive one cannot reach
}

// known is a member and the way to it.
type known struct {
	Member
	hash    uint64
	changed time.Time // when its beat was seen to change
	link    *link     // nil to oneself
}

// next returns the view after the registry was read at a time. links are kept
// for as long as their members are. Those in left have said that they leave.
func (v *view) next(n *Node, members []Member, now time.Time) (after *view, gone []string) {
	before := map[string]*known{}
	for _, k := range v.members {
		before[k.ID] = k
	}
	after = &view{digests: map[string]bool{}, avoided: map[string]bool{}}
	for _, m := range members {
		after.digests[string(m.Digest)] = true
		old := before[m.ID]
		k := &known{Member: m, hash: xxhash.Sum64String(m.ID), changed: now}
		if old != nil {
			k.link = old.link
			if old.Beat == m.Beat {
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

// owner returns the member that a stream is at home with, nil when nobody serves
// it: of the members alive, the one whose hash with the stream's is highest. So
// streams move only from those who leave and to those who join.
func (v *view) owner(stream string, now time.Time) (owner *known) {
	name, highest := xxhash.Sum64String(stream), uint64(0)
	for _, k := range v.members {
		if now.Sub(k.changed) >= aliveFor || k.link != nil && k.link.left.Load() || !k.serves(stream) {
			continue
		}
		if weight := mix(name ^ k.hash); owner == nil || weight > highest {
			owner, highest = k, weight
		}
	}
	return owner
}

// mix spreads the bits of x over all of the result (the finalizer of
// SplitMix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
