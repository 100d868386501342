package voting

// optionVotes is a number of stored votes for one value.
type optionVotes struct {
	value int16
	times uint16
}

// ballot holds the latest vote and all stored votes of one voter. It is zero for a
// voter that has not voted.
type ballot struct {
	last    int16
	stored  bool
	options []optionVotes
}

// voterBallots holds the ballots of a poll by identity. A fork keeps what changes in
// a map of its own and reads the rest from its base.
type voterBallots struct {
	table   ballotTable
	base    *voterBallots
	changed map[string]ballot
	// replaced are votes that replace what their voters had stored, and are not in changed yet.
	// In a poll of single votes no decision reads a ballot, so that none has to be made.
	replaced []*voteEntry
}

func (v *voterBallots) fork() voterBallots { return voterBallots{base: v} }

func (v *voterBallots) isFork() bool { return v.base != nil }

func (v *voterBallots) get(id string) ballot {
	if !v.isFork() {
		return v.table.get(id)
	}
	v.settleReplaced()
	if b, ok := v.changed[id]; ok {
		return b
	}
	return v.base.get(id)
}

// settleReplaced makes the ballots of the votes that wait for it.
func (v *voterBallots) settleReplaced() {
	for _, e := range v.replaced {
		id, _ := e.voter.identityIn(e.byUser)
		v.keepChanged(id, e.castOn(ballot{}))
	}
	v.replaced = v.replaced[:0]
}

func (v *voterBallots) keepChanged(id string, b ballot) {
	if v.changed == nil {
		v.changed = map[string]ballot{}
	}
	v.changed[id] = b
}

func (v *voterBallots) set(id string, b ballot) {
	if !v.isFork() {
		v.table.set(id, b)
		return
	}
	v.settleReplaced()
	v.keepChanged(id, b)
}

// isEmpty reports whether no identity has a stored vote.
func (v *voterBallots) isEmpty() bool {
	return len(v.table.records)+len(v.changed)+len(v.replaced) == 0 && (v.base == nil || v.base.isEmpty())
}

// clear forgets every voter, those of the base too.
func (v *voterBallots) clear() {
	if v.isFork() {
		*v = voterBallots{base: &voterBallots{}}
		return
	}
	v.table = ballotTable{}
}
