package event

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Notifier passes hints from the engines to the consumers of events. It is made
// before both, so that neither has to know whether the other exists yet. The zero
// Notifier has no receivers.
type Notifier struct {
	mu        sync.Mutex // orders calls of Register
	receivers atomic.Pointer[[]HintReceiver]
}

// HintReceiver takes the hint that a stream or a document has reached a head: the
// sequence number of a chunk or a version. It returns at once. Hints may come twice,
// late, out of order and before the receiver needs them.
type HintReceiver func(name string, head uint64)

// Register adds a receiver for the rest of the notifier's life.
func (n *Notifier) Register(r HintReceiver) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []HintReceiver
	if before := n.receivers.Load(); before != nil {
		all = slices.Clone(*before)
	}
	all = append(all, r)
	n.receivers.Store(&all)
}

// Notify passes a hint to every receiver. Commits wait for it.
func (n *Notifier) Notify(name string, head uint64) {
	if all := n.receivers.Load(); all != nil {
		for _, receive := range *all {
			receive(name, head)
		}
	}
}
