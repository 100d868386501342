package voting

import (
	"github.com/acclaim-dev/acclaim/api/contract"
)

// Visibility decides when viewers see the results of a poll.
type Visibility = contract.Visibility

// The visibilities.
const (
	VisibleAlways     = contract.VisibleAlways
	VisibleAfterVote  = contract.VisibleAfterVote
	VisibleAfterClose = contract.VisibleAfterClose
	VisibleToStaff    = contract.VisibleToStaff
)

func isKnown(v Visibility) bool {
	switch v {
	case "", VisibleAlways, VisibleAfterVote, VisibleAfterClose, VisibleToStaff:
		return true
	}
	return false
}

// HidesResults reports whether viewers may not see the results while the poll has a
// status: in a poll with VisibleAfterVote, those that have not voted. A poll that is
// disabled is not closed.
func (c *Config) HidesResults(status contract.Status) bool {
	switch c.ResultsVisibility {
	case VisibleAfterVote, VisibleAfterClose:
		return status != contract.Expired
	case VisibleToStaff:
		return true
	}
	return false
}

// hidingConfig returns the configuration of a poll that may hide its results, nil of any
// other: then answers are no larger than they were before polls could.
func (s *State) hidingConfig() *Config {
	if s.config == nil || s.config.ResultsVisibility == "" {
		return nil
	}
	return s.config
}

// judgeTally returns an answer's tally with what its voter may see now if it is a
// viewer.
func (s *Service) judgeTally(a Answer) Tally {
	t, c := a.tally, a.config
	t.Listed, t.Devices = a.listed.told(), a.devices
	if c == nil || !c.HidesResults(c.Status(s.clock.Now())) {
		return t
	}
	t.Hidden = c.ResultsVisibility != VisibleAfterVote || t.Vote == nil
	t.ShowCount = c.ShowCount
	return t
}

// ForViewer returns the tally as a viewer sees it.
func (t Tally) ForViewer() Tally {
	if t.Hidden {
		t.Statistics = t.Statistics.hide(t.ShowCount)
	}
	return t
}

// hide returns statistics that tell nothing, or the count alone.
func (s *Statistics) hide(showCount bool) *Statistics {
	var shown voteSums
	if showCount {
		shown.count = s.tally.count
	}
	h := newStatistics(shown, Decay{})
	h.hidden = true
	return h
}

// ForViewers returns what all viewers see of the poll while it has a status. Where some of
// them see more, because they have voted, that is in none of it.
func (o Overview) ForViewers(status contract.Status) Overview {
	if o.Config.HidesResults(status) {
		o.Statistics = o.Statistics.hide(o.Config.ShowCount)
	}
	return o
}
