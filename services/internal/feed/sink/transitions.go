package sink

import (
	"container/heap"
	"slices"
)

// transitionSchedule holds the next transitions of polls that were read. It finds those that are
// due without looking at the others.
type transitionSchedule struct {
	at    map[string]int64 // Unix seconds
	order transitionHeap   // has every poll at its time, and may have it at earlier settings
}

func newTransitionSchedule() transitionSchedule { return transitionSchedule{at: map[string]int64{}} }

// set notes when a poll begins or ends next.
func (s *transitionSchedule) set(name string, at int64) {
	if before, ok := s.at[name]; ok && before == at {
		return
	}
	s.at[name] = at
	heap.Push(&s.order, transition{name, at})
	if len(s.order) > 2*len(s.at)+64 { // most are of earlier settings
		s.order = slices.DeleteFunc(s.order, func(t transition) bool { return s.at[t.name] != t.at })
		heap.Init(&s.order)
	}
}

// takeUntil removes the poll whose transition comes first, and returns it, if that is at a time
// or before.
func (s *transitionSchedule) takeUntil(now int64) (name string, at int64, ok bool) {
	for len(s.order) > 0 && s.order[0].at <= now {
		first := heap.Pop(&s.order).(transition)
		if s.at[first.name] == first.at {
			delete(s.at, first.name)
			return first.name, first.at, true
		}
	}
	return "", 0, false
}

type transition struct {
	name string
	at   int64
}

// transitionHeap implements [heap.Interface].
type transitionHeap []transition

func (h transitionHeap) Len() int           { return len(h) }
func (h transitionHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h transitionHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *transitionHeap) Push(x any)        { *h = append(*h, x.(transition)) }
func (h *transitionHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
