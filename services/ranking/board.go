package ranking

import (
	"cmp"
	"maps"

	"github.com/tidwall/btree"
)

// board holds who answered what, and the answers in the order of their ranks.
// Its fork is a board without ranks, which deciding does not need.
type board struct {
	answers map[string]*answer // by identity; nil in a fork: cleared or never given
	keys    map[string]*answer // by key
	ranks   *btree.BTreeG[*answer]
	base    *board
	size    int
}

// answer is a key that somebody holds. All who hold it share it.
type answer struct {
	key   string
	score int64
}

func newBoard() *board {
	return &board{
		answers: map[string]*answer{},
		keys:    map[string]*answer{},
		// The engine keeps readers and the writer apart.
		ranks: btree.NewBTreeGOptions(before, btree.Options{NoLocks: true}),
	}
}

// before is the order of ranks.
func before(a, b *answer) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	return cmp.Less(a.key, b.key)
}

func (b *board) fork() *board { return &board{answers: map[string]*answer{}, base: b} }

// Equal reports whether everybody has given the same answers; what is ranked
// follows from that.
func (rules) Equal(a, b *board) bool {
	return maps.EqualFunc(a.answers, b.answers, func(x, y *answer) bool { return *x == *y })
}

// current returns the identity's answer.
func (b *board) current(identity string) (key string, ok bool) {
	if a, known := b.answers[identity]; known {
		return a.key, true
	}
	if b.base == nil {
		return "", false
	}
	return b.base.current(identity)
}

// empty reports whether nobody has answered.
func (b *board) empty() bool {
	return len(b.answers) == 0 && (b.base == nil || b.base.empty())
}

// set makes key the identity's answer.
func (b *board) set(identity, key string) {
	if b.ranks == nil {
		b.answers[identity] = &answer{key: key}
		return
	}
	if old := b.answers[identity]; old != nil {
		b.score(old, -1)
	} else {
		b.size += len(identity) + 64
	}
	held := b.keys[key]
	if held == nil {
		held = &answer{key: key}
	}
	b.score(held, +1)
	b.answers[identity] = held
}

// score moves an answer to the rank of its new score.
func (b *board) score(a *answer, by int64) {
	b.ranks.Delete(a)
	switch a.score += by; a.score {
	case 0:
		delete(b.keys, a.key)
		b.size -= len(a.key) + 128
		return
	case 1:
		if by > 0 {
			b.keys[a.key] = a
			b.size += len(a.key) + 128
		}
	}
	b.ranks.Set(a)
}

// clear removes every answer, those of the base too.
func (b *board) clear() {
	if b.ranks == nil {
		*b = board{answers: map[string]*answer{}}
		return
	}
	*b = *newBoard()
}

func (b *board) top(limit int) []Score {
	top := make([]Score, 0, min(limit, b.ranks.Len()))
	b.ranks.Scan(func(a *answer) bool {
		top = append(top, Score{a.key, a.score})
		return len(top) < limit
	})
	return top
}
