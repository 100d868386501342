package batch_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/batch"
)

func values(items []*batch.Item[int]) []int {
	var all []int
	for _, item := range items {
		all = append(all, item.Value)
	}
	return all
}

func expect(t *testing.T, got []*batch.Item[int], want ...int) {
	t.Helper()
	if !slices.Equal(values(got), want) {
		t.Errorf("took %v, want %v", values(got), want)
	}
}

func TestOneWorkerTakesInOrder(t *testing.T) {
	var q batch.Queue[int]
	if !q.Push(batch.NewItem(1)) {
		t.Error("the first push must start a worker")
	}
	if q.Push(batch.NewItem(2)) || q.Push(batch.NewItem(3)) {
		t.Error("a second worker was started")
	}
	expect(t, q.Take(nil, 2), 1, 2)
	expect(t, q.Take(nil, 2), 3)
	if q.Idle() {
		t.Error("idle while the worker has not ended")
	}
	expect(t, q.Take(nil, 2))
	if !q.Idle() {
		t.Error("not idle after the worker ended")
	}
	if !q.Push(batch.NewItem(4)) {
		t.Error("the worker ended, so a push must start another")
	}
}

func TestReturnedItemsComeFirst(t *testing.T) {
	var q batch.Queue[int]
	for i := range 4 {
		q.Push(batch.NewItem(i))
	}
	taken := q.Take(nil, 3)
	q.Return(taken[1:])
	expect(t, q.Take(nil, 9), 1, 2, 3)
}

func TestWithdraw(t *testing.T) {
	var q batch.Queue[int]
	items := []*batch.Item[int]{batch.NewItem(0), batch.NewItem(1), batch.NewItem(2)}
	for _, item := range items {
		q.Push(item)
	}
	taken := q.Take(nil, 1)
	if q.Withdraw(items[0]) {
		t.Error("withdrew an item that the worker has")
	}
	if !q.Withdraw(items[1]) || q.Withdraw(items[1]) {
		t.Error("a waiting item can be withdrawn, once")
	}
	q.Return(taken)
	if !q.Withdraw(items[0]) {
		t.Error("an item that was returned can be withdrawn")
	}
	expect(t, q.Take(nil, 9), 2)
}

// Every pushed item is taken exactly once or withdrawn, whatever the timing.
func TestNothingIsLostOrTakenTwice(t *testing.T) {
	const pushers, each = 8, 500
	var (
		q         batch.Queue[int]
		workers   sync.WaitGroup
		withdrawn sync.Map
		seen      = make([]int, pushers*each) // the worker's own
	)
	work := func() {
		for {
			items := q.Take(nil, 7)
			if len(items) == 0 {
				return
			}
			if len(items) > 3 {
				q.Return(items[3:])
				items = items[:3]
			}
			for _, item := range items {
				seen[item.Value]++
				item.Finish()
			}
		}
	}
	var all sync.WaitGroup
	for p := range pushers {
		all.Go(func() {
			for i := range each {
				item := batch.NewItem(p*each + i)
				if q.Push(item) {
					workers.Go(work)
				}
				if i%5 == 0 && q.Withdraw(item) {
					withdrawn.Store(item.Value, true)
					continue
				}
				<-item.Done()
			}
		})
	}
	all.Wait()
	workers.Wait()
	for value, n := range seen {
		_, gone := withdrawn.Load(value)
		if gone && n != 0 || !gone && n != 1 {
			t.Errorf("item %d was handled %d times, withdrawn: %v", value, n, gone)
		}
	}
}

func TestClear(t *testing.T) {
	var q batch.Queue[int]
	items := []*batch.Item[int]{batch.NewItem(0), batch.NewItem(1), batch.NewItem(2)}
	for _, item := range items {
		q.Push(item)
	}
	expect(t, q.Take(nil, 1), 0)
	expect(t, q.Clear(), 1, 2)
	if q.Withdraw(items[1]) {
		t.Error("withdrew what the worker has")
	}
	if q.Push(batch.NewItem(3)) {
		t.Error("clearing ended the worker")
	}
	expect(t, q.Take(nil, 9), 3)
}
