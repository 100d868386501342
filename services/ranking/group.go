package ranking

import (
	"math"

	"github.com/tidwall/btree"
)

// Standing decides where the answers of a group appear.
type Standing int

// The standings. Only [Visible] answers are in the ranking.
const (
	Visible Standing = iota
	Held             // until staff decides
	Hidden           // by staff
	standings
)

// ParseStanding returns the standing with a name of the API; ok is false for any other.
func ParseStanding(name string) (s Standing, ok bool) {
	for i, known := range []string{"visible", "held", "hidden"} {
		if name == known {
			return Standing(i), true
		}
	}
	return 0, false
}

// groupStanding is the part of a group on which decisions depend.
type groupStanding struct {
	holders  int64 // identities
	standing Standing
	decided  bool   // by staff
	into     string // the group that this one is merged into
	actor    StaffActor
}

// exists reports whether the group has holders or a decision.
func (g groupStanding) exists() bool { return g.holders > 0 || g.decided }

// answerGroup holds the answers that count as one. At most one answer of an identity is in it.
type answerGroup struct {
	groupStanding
	key    string
	score  int64    // its holders and those of the groups merged into it
	plain  spelling // that equals the key
	parent *answerGroup
}

// spelling is an answer as its holders wrote it.
type spelling struct {
	group   *answerGroup
	text    string
	holders int64
}

// ranksBefore is the order of ranks.
func ranksBefore(a, b *answerGroup) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	return a.key < b.key
}

// spellsBefore is the order of the spellings of all groups: the commonest of a group is its
// first.
func spellsBefore(a, b *spelling) bool {
	switch {
	case a.group.key != b.group.key:
		return a.group.key < b.group.key
	case a.holders != b.holders:
		return a.holders > b.holders
	}
	return a.text < b.text
}

// groupIndex holds the groups of a question in the order of their ranks.
type groupIndex struct {
	groups   map[string]*answerGroup // by key
	ranks    [standings]*btree.BTreeG[*answerGroup]
	variants map[variantName]*spelling
	// commonest holds the variants in the order of their groups and numbers of holders.
	commonest *btree.BTreeG[*spelling]
	decisions int
	size      int
}

// variantName names a spelling that differs from the key of its group.
type variantName struct{ key, text string }

func newIndex() groupIndex {
	x := groupIndex{groups: map[string]*answerGroup{}, variants: map[variantName]*spelling{}}
	for i := range x.ranks {
		// The engine keeps readers and the writer apart.
		x.ranks[i] = btree.NewBTreeGOptions(ranksBefore, btree.Options{NoLocks: true})
	}
	x.commonest = btree.NewBTreeGOptions(spellsBefore, btree.Options{NoLocks: true})
	return x
}

// group returns the group with a key, a new one with the given standing if there is none.
func (x *groupIndex) group(key string, s Standing) *answerGroup {
	g := x.groups[key]
	if g == nil {
		g = &answerGroup{key: key, groupStanding: groupStanding{standing: s}}
		g.plain = spelling{group: g, text: key}
		x.groups[key] = g
		x.size += len(key) + 192
	}
	return g
}

// dropUnused removes a group that nothing needs.
func (x *groupIndex) dropUnused(g *answerGroup) {
	if !g.exists() {
		delete(x.groups, g.key)
		x.size -= len(g.key) + 192
	}
}

// addHolder gives a spelling of a group one more holder.
func (x *groupIndex) addHolder(g *answerGroup, text string) *spelling {
	s := &g.plain
	if text != g.key {
		name := variantName{g.key, text}
		if s = x.variants[name]; s == nil {
			s = &spelling{group: g, text: text}
			x.variants[name] = s
			x.size += len(text) + 192
		}
	}
	x.changeHolders(s, +1)
	return s
}

// removeHolder takes a holder from a spelling.
func (x *groupIndex) removeHolder(s *spelling) {
	x.changeHolders(s, -1)
	if s.holders == 0 && s != &s.group.plain {
		delete(x.variants, variantName{s.group.key, s.text})
		x.size -= len(s.text) + 192
	}
	x.dropUnused(s.group)
}

func (x *groupIndex) changeHolders(s *spelling, by int64) {
	if s == &s.group.plain {
		s.holders += by
	} else {
		x.commonest.Delete(s)
		if s.holders += by; s.holders > 0 {
			x.commonest.Set(s)
		}
	}
	s.group.holders += by
	x.changeScore(s.group, by)
}

// changeScore moves the group that an answer counts for to the rank of its new score.
func (x *groupIndex) changeScore(g *answerGroup, by int64) {
	for ; g.parent != nil; g = g.parent {
		g.score += by
	}
	x.ranks[g.standing].Delete(g)
	if g.score += by; g.score > 0 {
		x.ranks[g.standing].Set(g)
	}
}

// decide applies what staff decided about a group: a standing of its own, or another group
// that it counts for.
func (x *groupIndex) decide(g *answerGroup, s Standing, parent *answerGroup, by StaffActor) {
	if !g.decided {
		g.decided = true
		x.decisions++
	}
	x.size += by.size() - g.actor.size()
	g.actor = by
	score := g.score
	if g.parent != nil {
		x.changeScore(g.parent, -score)
	} else {
		x.ranks[g.standing].Delete(g)
	}
	g.standing, g.parent, g.into = s, parent, ""
	switch {
	case parent != nil:
		g.into = parent.key
		x.changeScore(parent, score)
	case score > 0:
		x.ranks[s].Set(g)
	}
}

// label returns the commonest spelling of a group, the first of several by bytes; without
// answers of its own the key.
func (x *groupIndex) label(g *answerGroup) string {
	best := &g.plain
	x.commonest.Ascend(&spelling{group: g, holders: math.MaxInt64}, func(s *spelling) bool {
		if s.group == g && (s.holders > best.holders || s.holders == best.holders && s.text < best.text) {
			best = s
		}
		return false
	})
	return best.text
}
