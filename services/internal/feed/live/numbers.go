package live

import "github.com/acclaim-dev/acclaim/services/internal/feed/event"

// eventNumbers are the numbers of an event on both sides of an audience. Ids of events
// have them: if viewers had those of staff, gaps would tell of hidden results that change.
type eventNumbers struct{ staff, viewers uint64 }

// assign gives an event its numbers, those after the last ones.
func (n *eventNumbers) assign(e *event.Event) {
	n.staff++
	e.Sequence = n.staff
	if e.For.Reaches(event.Viewers) {
		n.viewers++
		e.ViewerSequence = n.viewers
	}
}

func (n eventNumbers) of(side event.Sight) uint64 {
	if side == event.Viewers {
		return n.viewers
	}
	return n.staff
}

// numberOf returns the number of an event on one side, 0 where that does not receive it.
func numberOf(e *event.Event, side event.Sight) uint64 {
	return eventNumbers{e.Sequence, e.ViewerSequence}.of(side)
}
