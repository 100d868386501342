package voting

import (
	"bytes"
	"maps"
	"slices"
)

func (rules) Equal(a, b *State) bool {
	return a.used == b.used && a.resets == b.resets && a.tally == b.tally && a.decay == b.decay &&
		(a.config == nil) == (b.config == nil) &&
		(a.config == nil || bytes.Equal(a.config.encode(), b.config.encode())) &&
		maps.Equal(a.modifiers.total, b.modifiers.total) &&
		a.voters.table.equal(&b.voters.table)
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
