package voting

import (
	"bytes"
	"maps"
	"slices"
)

// equal reports whether two states are the same, however they are laid out in
// memory.
func (s *State) equal(o *State) bool {
	return s.used == o.used && s.resets == o.resets && s.tally == o.tally && s.decay == o.decay &&
		(s.config == nil) == (o.config == nil) &&
		(s.config == nil || bytes.Equal(s.config.encode(), o.config.encode())) &&
		maps.Equal(s.modifiers.total, o.modifiers.total) &&
		s.voters.table.equal(&o.voters.table)
}

func (t *table) equal(o *table) bool {
	if len(t.records) != len(o.records) {
		return false
	}
	for i := range t.records {
		id := t.identity(i)
		a, b := t.get(id), o.get(id)
		if a.last != b.last || a.stored != b.stored || !slices.Equal(a.options, b.options) {
			return false
		}
	}
	return true
}
