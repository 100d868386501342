package ranking

import (
	"bytes"
	"iter"
	"maps"
	"slices"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// answerBoard holds the answers of each identity, and the groups of answers in the order of
// their ranks. Its fork holds what differs from its base, without ranks, which deciding does
// not need.
type answerBoard struct {
	filter *answerFilter // nil without a configuration
	groupIndex

	newest map[string]*spelling   // by identity
	older  map[string][]*spelling // before the newest; in order

	fork *boardFork // nil: this is no fork
	size int
}

// boardFork holds what differs from a board.
type boardFork struct {
	base      *answerBoard // nil: cleared
	answers   map[string][]*spelling
	groups    map[string]groupStanding
	decisions int
}

func newBoard() *answerBoard {
	return &answerBoard{groupIndex: newIndex(), newest: map[string]*spelling{}, older: map[string][]*spelling{}}
}

func (b *answerBoard) newFork() *answerBoard {
	return &answerBoard{filter: b.filter, fork: newBoardFork(b, b.decisionCount())}
}

func newBoardFork(base *answerBoard, decisions int) *boardFork {
	return &boardFork{base: base, answers: map[string][]*spelling{}, groups: map[string]groupStanding{}, decisions: decisions}
}

// Equal reports whether all identities have given the same answers in the same order, under
// the same configuration and the same decisions; the ranks follow from these.
func (questionRules) Equal(a, b *answerBoard) bool {
	same := func(x, y *spelling) bool { return x.text == y.text && x.group.key == y.group.key }
	return bytes.Equal(a.encodeConfig(), b.encodeConfig()) &&
		maps.EqualFunc(a.newest, b.newest, same) &&
		maps.EqualFunc(a.older, b.older, func(x, y []*spelling) bool { return slices.EqualFunc(x, y, same) }) &&
		maps.EqualFunc(a.groups, b.groups, func(x, y *answerGroup) bool { return x.groupStanding == y.groupStanding })
}

func (b *answerBoard) encodeConfig() []byte {
	if b.filter == nil {
		return nil
	}
	return b.filter.encodeJSON()
}

// answersOf returns the identity's answers, the newest last.
func (b *answerBoard) answersOf(identity string) []*spelling {
	if b.fork != nil {
		if answers, ok := b.fork.answers[identity]; ok || b.fork.base == nil {
			return answers
		}
		return b.fork.base.answersOf(identity)
	}
	if newest := b.newest[identity]; newest != nil {
		return append(slices.Clip(b.older[identity]), newest)
	}
	return nil
}

// standingOf returns the standing of the group with a key.
func (b *answerBoard) standingOf(key string) groupStanding {
	if b.fork != nil {
		if g, ok := b.fork.groups[key]; ok || b.fork.base == nil {
			return g
		}
		return b.fork.base.standingOf(key)
	}
	if g := b.groups[key]; g != nil {
		return g.groupStanding
	}
	return groupStanding{}
}

// rootOf returns the key of the group that answers of a group count for, and its standing.
func (b *answerBoard) rootOf(key string) (string, groupStanding) {
	g := b.standingOf(key)
	for g.into != "" {
		key, g = g.into, b.standingOf(g.into)
	}
	return key, g
}

func (b *answerBoard) decisionCount() int {
	if b.fork != nil {
		return b.fork.decisions
	}
	return b.decisions
}

// isEmpty reports whether there is no answer and no decision.
func (b *answerBoard) isEmpty() bool {
	if b.fork != nil {
		return len(b.fork.answers) == 0 && b.decisionCount() == 0 && (b.fork.base == nil || b.fork.base.isEmpty())
	}
	return len(b.newest) == 0 && b.decisions == 0
}

// exists reports whether the question has been asked or answered.
func (b *answerBoard) exists() bool { return b.filter != nil || !b.isEmpty() }

// replaceAnswers returns those of an identity's answers that stay when one of a group joins
// them and at most keep are left, and those that the new one replaces: first the one of the
// same group.
func replaceAnswers(answers []*spelling, group string, keep int) (kept, replaced []*spelling) {
	for _, s := range answers {
		if s.group.key == group {
			replaced = append(replaced, s)
		} else {
			kept = append(kept, s)
		}
	}
	if extra := len(kept) + 1 - keep; extra > 0 {
		replaced, kept = append(replaced, kept[:extra]...), kept[extra:]
	}
	return kept, replaced
}

// setAnswer applies an answer. The new one counts before the old ones go, so that a group
// keeps its standing.
func (b *answerBoard) setAnswer(e answerEntry) {
	kept, replaced := replaceAnswers(b.answersOf(e.identity), e.groupKey(), e.capacity())
	if b.fork != nil {
		b.forkAnswer(e, kept, replaced)
		return
	}
	if len(kept)+len(replaced) == 0 {
		b.size += len(e.identity) + 64
	}
	s := b.addHolder(b.group(e.groupKey(), e.standing()), e.key)
	for _, old := range replaced {
		b.removeHolder(old)
	}
	b.newest[e.identity] = s
	b.size += 8 * (len(kept) - len(b.older[e.identity]))
	if delete(b.older, e.identity); len(kept) > 0 {
		b.older[e.identity] = slices.Clip(kept)
	}
}

func (b *answerBoard) forkAnswer(e answerEntry, kept, replaced []*spelling) {
	count := func(key string, by int64) {
		g := b.standingOf(key)
		if !g.exists() {
			g = groupStanding{standing: e.standing()}
		}
		g.holders += by
		b.fork.groups[key] = g
	}
	count(e.groupKey(), +1)
	for _, old := range replaced {
		count(old.group.key, -1)
	}
	b.fork.answers[e.identity] = append(slices.Clip(kept), &spelling{group: &answerGroup{key: e.groupKey()}, text: e.key})
}

// decideGroup applies what staff decided about the group with a key: its standing, or the
// key of the group that it is merged into. Staff shows that group, too, unless it is hidden.
func (b *answerBoard) decideGroup(key string, s Standing, into string, by StaffActor) {
	if root, _ := b.rootOf(into); root == key {
		into = "" // only an imported log has a circle
	}
	if into != "" && !b.standingOf(into).decided {
		b.decideGroup(into, Visible, "", by)
	}
	if b.fork == nil {
		var parent *answerGroup
		if into != "" {
			parent = b.group(into, Visible)
		}
		b.decide(b.group(key, s), s, parent, by)
		return
	}
	g := b.standingOf(key)
	if !g.decided {
		b.fork.decisions++
	}
	b.fork.groups[key] = groupStanding{holders: g.holders, decided: true, standing: s, into: into, actor: by}
}

// clearAll removes every answer and decision, those of the base too.
func (b *answerBoard) clearAll() {
	filter := b.filter
	if b.fork != nil {
		*b = answerBoard{fork: newBoardFork(nil, 0)}
	} else {
		*b = *newBoard()
	}
	b.filter = filter
}

// memorySize returns roughly how many bytes the board takes.
func (b *answerBoard) memorySize() int {
	size := 256 + b.size + b.groupIndex.size
	if b.filter != nil {
		size += 256 + 2*len(b.filter.phrases)*contract.MaxBlockedPhrase
	}
	return size
}

func (b *answerBoard) topScores(s Standing, limit int) []Score {
	ranks := b.ranks[s]
	top := make([]Score, 0, min(limit, ranks.Len()))
	ranks.Scan(func(g *answerGroup) bool {
		score := Score{Key: b.label(g), Score: g.score}
		if score.Key != g.key {
			score.Group = g.key
		}
		if s == Hidden { // what others than staff see has no actors
			score.Actor = g.actor
		}
		top = append(top, score)
		return len(top) < limit
	})
	return top
}

// entries yields the shortest log of the board: the configuration, the answers, the
// decisions.
func (b *answerBoard) entries() iter.Seq[answerEntry] {
	return func(yield func(answerEntry) bool) {
		if b.filter != nil && !yield(answerEntry{kind: entryConfigured, config: b.filter.Config}) {
			return
		}
		for identity := range b.newest {
			answers := b.answersOf(identity)
			for _, s := range answers {
				if !yield(answerEntry{
					identity: identity, key: s.text, group: s.group.key,
					keep: len(answers), held: s.group.standing == Held,
				}) {
					return
				}
			}
		}
		for key, g := range b.groups {
			if g.decided && !yield(g.decision(key)) {
				return
			}
		}
	}
}

// decision returns the entry with what staff decided about the group.
func (g groupStanding) decision(key string) answerEntry {
	switch {
	case g.into != "":
		return answerEntry{kind: entryMerged, key: key, group: g.into, actor: g.actor}
	case g.standing == Hidden:
		return answerEntry{kind: entryHidden, key: key, actor: g.actor}
	}
	return answerEntry{kind: entryShown, key: key, actor: g.actor}
}
