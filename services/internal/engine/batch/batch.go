// Package batch gathers what arrives for one key while the worker of that key
// is busy, so that the worker can handle it all at once: the queue behind group
// commit.
//
// A queue starts no goroutine. Push tells its caller to start the worker, and
// the worker ends when Take finds nothing, so that an idle key costs nothing
// but its memory. The package has no bound of its own: the callers of Push count.
// It may not import anything of the project.
package batch

import (
	"runtime"
	"slices"
	"sync"
)

// Item is a value on its way through a queue.
type Item[T any] struct {
	Value T
	taken bool
	done  chan struct{}
	// finished, unless it is nil, gets place.
	finished chan<- int
	place    int
}

// NewItem returns an item that holds value.
func NewItem[T any](value T) *Item[T] {
	return &Item[T]{Value: value, done: make(chan struct{})}
}

// Announce makes Finish send place to finished as well, which has room for it: so one
// goroutine waits for many items. It is called before Push.
func (i *Item[T]) Announce(finished chan<- int, place int) { i.finished, i.place = finished, place }

// Finish closes Done: the worker has dealt with the item.
// It is called once, and nothing in the item changes after it.
func (i *Item[T]) Finish() {
	close(i.done)
	if i.finished != nil {
		i.finished <- i.place
	}
}

// Done is closed when the item is finished.
func (i *Item[T]) Done() <-chan struct{} { return i.done }

// Queue holds the items of one key in the order in which they were pushed. The
// zero Queue is empty and ready.
type Queue[T any] struct {
	mu      sync.Mutex
	waiting []*Item[T]
	working bool
}

// Push adds an item. When start is true the queue has no worker and the
// caller must start a worker, which calls Take until that returns nothing.
func (q *Queue[T]) Push(item *Item[T]) (start bool) {
	_, start = q.PushIf(item, func(int) bool { return true })
	return start
}

// PushIf adds an item as Push does, if fits returns true for the number of items that wait already.
func (q *Queue[T]) PushIf(item *Item[T], fits func(waiting int) bool) (pushed, start bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !fits(len(q.waiting)) {
		return false, false
	}
	q.waiting = append(q.waiting, item)
	start = !q.working
	q.working = true
	return true, start
}

// Gather yields to callers that are about to push, while there are some. So a batch
// holds on a busy machine what would else have made several; on an idle one this costs
// nothing. The worker calls it before Take.
func (q *Queue[T]) Gather() { Gather(q.Len) }

// Gather yields to callers as [Queue.Gather] does, while the number of what has come grows.
func Gather(count func() int) {
	const tries = 8
	for n, try := 0, 0; try < tries && count() > n; try++ {
		n = count()
		runtime.Gosched()
	}
}

// Take appends up to limit items to buf, oldest first, and returns it. When
// there are none the worker must end: the next Push starts another.
func (q *Queue[T]) Take(buf []*Item[T], limit int) []*Item[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(limit, len(q.waiting))
	for _, item := range q.waiting[:n] {
		item.taken = true
	}
	buf = append(buf, q.waiting[:n]...)
	q.waiting = slices.Delete(q.waiting, 0, n)
	q.working = n > 0
	return buf
}

// End ends the worker if nothing waits, and reports whether it did: the next Push starts
// another.
func (q *Queue[T]) End() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.working = false
	}
	return !q.working
}

// Return puts items that were taken back to the front of the queue, in their
// order. Only the worker calls it.
func (q *Queue[T]) Return(items []*Item[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, item := range items {
		item.taken = false
	}
	q.waiting = slices.Insert(q.waiting, 0, items...)
}

// Clear removes and returns the items that no worker has taken, and leaves the worker,
// if there is one, as it is: it will find nothing and end.
func (q *Queue[T]) Clear() []*Item[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.waiting
	for _, item := range waiting {
		item.taken = true
	}
	q.waiting = nil
	return waiting
}

// Withdraw removes an item that no worker has taken and reports whether it did. The
// worker never sees a withdrawn item.
func (q *Queue[T]) Withdraw(item *Item[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if item.taken {
		return false
	}
	i := slices.Index(q.waiting, item)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// Len returns how many items wait.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// Idle reports whether nothing waits and the queue has no worker.
func (q *Queue[T]) Idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.working && len(q.waiting) == 0
}
