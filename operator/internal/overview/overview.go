// Package overview describes the operators, Backends, Extensions and Polls of a cluster as
// a tree, in which everything that is wrong comes before everything that is not.
//
// It reads and changes nothing. Kinds that a cluster lacks and objects that the user may not
// read are left out and named.
package overview

import (
	"cmp"
	"slices"
)

// State of an object.
type State string

// The states, the best first.
const (
	// OK: everything that is declared is in effect, or waits in a Backend that is suspended.
	OK State = "OK"
	// Waiting: it is not, and may become so without a change of what is declared.
	Waiting State = "Waiting"
	// Wrong: a person is needed, or nothing tells that one is not.
	Wrong State = "Wrong"
)

func (s State) rank() int { return slices.Index([]State{OK, Waiting, Wrong}, s) }

// Node is an object of the tree.
type Node struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	State     State  `json:"state"`
	// Reason and Message say why the object is not OK.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Facts describe the object in a few words each.
	Facts []string `json:"facts,omitempty"`
	// Notes say more about an object that is not OK: its deletion, pods and last Events.
	Notes    []string `json:"notes,omitempty"`
	Children []*Node  `json:"children,omitempty"`
}

// Overview is a tree with several roots.
type Overview struct {
	// Total and Failing count the objects, and those that are not OK.
	Total   int     `json:"total"`
	Failing int     `json:"failing"`
	Roots   []*Node `json:"roots"`
	// Unread names what the user may not read.
	Unread []string `json:"unread,omitempty"`
}

// raise makes a node at least as bad as a state.
func (n *Node) raise(s State, reason, message string) {
	if s.rank() > n.State.rank() {
		n.State, n.Reason, n.Message = s, reason, message
	}
}

// worst returns the worst state of a node and those below it.
func (n *Node) worst() State {
	state := n.State
	for _, child := range n.Children {
		if s := child.worst(); s.rank() > state.rank() {
			state = s
		}
	}
	return state
}

// newOverview sorts and counts. An object that occurs twice counts once.
func newOverview(roots []*Node, unread []string) *Overview {
	slices.Sort(unread)
	o := &Overview{Roots: roots, Unread: slices.Compact(unread)}
	sortNodes(o.Roots)
	type name struct{ kind, namespace, name string }
	counted := map[name]bool{}
	var count func(nodes []*Node)
	count = func(nodes []*Node) {
		for _, n := range nodes {
			count(n.Children)
			key := name{n.Kind, n.Namespace, n.Name}
			if counted[key] {
				continue
			}
			counted[key] = true
			o.Total++
			if n.State != OK {
				o.Failing++
			}
		}
	}
	count(o.Roots)
	return o
}

func sortNodes(nodes []*Node) {
	kinds := []string{KindOperator, KindBackend, KindService, KindScheduledBackup, KindBackup, KindExtension, KindPoll}
	for _, n := range nodes {
		sortNodes(n.Children)
	}
	slices.SortStableFunc(nodes, func(a, b *Node) int {
		return cmp.Or(
			cmp.Compare(b.worst().rank(), a.worst().rank()),
			cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
			cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name))
	})
}

// The kinds of nodes.
const (
	KindOperator        = "Operator"
	KindBackend         = "Backend"
	KindService         = "Service"
	KindExtension       = "Extension"
	KindPoll            = "Poll"
	KindBackup          = "Backup"
	KindScheduledBackup = "ScheduledBackup"
)
