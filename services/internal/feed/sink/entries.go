package sink

import "github.com/acclaim-dev/acclaim/services/internal/feed/event"

// sourceClass orders what waits: the first class goes before the second.
type sourceClass int

const (
	// declared are messages, documents and configured polls: what staff makes.
	declared sourceClass = iota
	// madeUp are whispers, entries, answers and the polls that staff has not configured: what
	// any viewer makes.
	madeUp
	classes // how many there are
)

// entryQueue holds entries, each source once, by class and in the order of their arrival.
// All that it does takes constant time.
type entryQueue struct {
	byName map[string]queueEntry
	order  [classes][]string
}

func newEntryQueue() entryQueue { return entryQueue{byName: map[string]queueEntry{}} }

// push adds an entry, or its head to that of its source.
func (q *entryQueue) push(e queueEntry, class sourceClass) {
	name := e.source.Name
	waiting, ok := q.byName[name]
	if !ok {
		q.order[class] = append(q.order[class], name)
	} else if waiting.hinted != readAgain && e.hinted != readAgain {
		e.hinted = max(e.hinted, waiting.hinted)
	} else {
		e.hinted = readAgain
	}
	q.byName[name] = e
}

// pop removes the entry of the first class that has waited longest.
func (q *entryQueue) pop() (e queueEntry, ok bool) {
	for class, names := range q.order {
		if len(names) == 0 {
			continue
		}
		e, q.order[class] = q.byName[names[0]], names[1:]
		delete(q.byName, e.source.Name)
		return e, true
	}
	return e, false
}

func (q *entryQueue) isEmpty() bool { return len(q.byName) == 0 }

// next returns the class of the entry that pop returns, madeUp where there is none.
func (q *entryQueue) next() sourceClass {
	if len(q.order[declared]) > 0 {
		return declared
	}
	return madeUp
}

// classOf returns the class of a source. w.mu is held.
func (w *sinkWorker) classOf(s event.Source) sourceClass {
	if s.Kind != event.Poll {
		if s.Whispers || s.ForStaff() {
			return madeUp
		}
		return declared
	}
	return w.polls[s.Name]
}
