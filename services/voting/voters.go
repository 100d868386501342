package voting

// option is a number of stored votes for one value.
type option struct {
	value int16
	times uint16
}

// ballot is what a poll remembers of one voter: the latest vote and everything
// stored. The zero ballot is that of someone who has not voted.
type ballot struct {
	last    int16
	stored  bool
	options []option
}

// voters holds the ballots of a poll by identity. A fork keeps what changes in
// a map of its own and reads the rest from its base.
type voters struct {
	table   table
	base    *voters
	changed map[string]ballot
}

func (v *voters) fork() voters { return voters{base: v, changed: map[string]ballot{}} }

func (v *voters) get(id string) ballot {
	if v.base == nil {
		return v.table.get(id)
	}
	if b, ok := v.changed[id]; ok {
		return b
	}
	return v.base.get(id)
}

func (v *voters) set(id string, b ballot) {
	if v.base == nil {
		v.table.set(id, b)
		return
	}
	v.changed[id] = b
}

// clear forgets every voter, those of the base too.
func (v *voters) clear() {
	if v.base != nil {
		*v = voters{base: &voters{}, changed: map[string]ballot{}}
		return
	}
	v.table = table{}
}
