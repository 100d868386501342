package ranking

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// naive is a question as one would write it down: the answers of each identity in their
// order, and what is known of groups.
type naive struct {
	config  Config
	answers map[string][]naiveAnswer
	state   map[string]Standing // decided
	into    map[string]string
	held    map[string]bool // undecided
	hid     map[string]StaffActor
}

type naiveAnswer struct{ text, group string }

func newNaive() *naive {
	return &naive{DefaultConfig(), map[string][]naiveAnswer{}, map[string]Standing{}, map[string]string{}, map[string]bool{}, map[string]StaffActor{}}
}

// fold is the normalization of the alphabet that the histories use.
func (n *naive) fold(key string) naiveAnswer {
	if n.config.Normalization == contract.ExactAnswers {
		return naiveAnswer{key, key}
	}
	key = strings.TrimSpace(key)
	return naiveAnswer{key, strings.ToLower(key)}
}

func (n *naive) holders(group string) (count int64) {
	for _, answers := range n.answers {
		for _, a := range answers {
			if a.group == group {
				count++
			}
		}
	}
	return count
}

func (n *naive) decided(group string) bool {
	_, ok := n.state[group]
	return ok
}

func (n *naive) root(group string) string {
	for n.into[group] != "" {
		group = n.into[group]
	}
	return group
}

func (n *naive) standing(group string) Standing {
	root := n.root(group)
	if n.held[root] {
		return Held
	}
	return n.state[root]
}

func (n *naive) label(group string) string {
	best, most := group, 0
	for _, answers := range n.answers {
		for _, a := range answers {
			if a.group != group {
				continue
			}
			count := 0
			for _, others := range n.answers {
				for _, o := range others {
					if o == a {
						count++
					}
				}
			}
			if count > most || count == most && a.text < best {
				best, most = a.text, count
			}
		}
	}
	return best
}

func (n *naive) top(s Standing, limit int) []Score {
	scores := map[string]int64{}
	for _, answers := range n.answers {
		for _, a := range answers {
			scores[n.root(a.group)]++
		}
	}
	top := []Score{}
	for group, score := range scores {
		if n.standing(group) == s {
			top = append(top, Score{Key: n.label(group), Score: score, Group: group})
		}
	}
	slices.SortFunc(top, func(a, b Score) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Group, b.Group))
	})
	top = top[:min(limit, len(top))]
	for i := range top {
		if s == Hidden {
			top[i].Actor = n.hid[top[i].Group]
		}
		if top[i].Group == top[i].Key {
			top[i].Group = ""
		}
	}
	return top
}

func (n *naive) do(c questionCommand) (answer Answer, refused bool) {
	switch c.kind {
	case entryCleared:
		config := n.config
		*n = *newNaive()
		n.config = config
	case entryConfigured:
		n.config = *c.config
	case entryAnswered:
		return n.submit(c.identity, c.key), false
	default:
		return Answer{}, n.moderate(c.answerEntry)
	}
	return Answer{}, false
}

func (n *naive) submit(identity, key string) Answer {
	a := n.fold(key)
	if slices.Contains(strings.Fields(strings.ToLower(key)), "bad") && len(n.config.Blocked) > 0 {
		return Answer{Reason: reasonBlocked}
	}
	if !n.decided(a.group) && n.holders(a.group) == 0 {
		n.held[a.group] = n.config.HoldAnswers
	}
	answer := Answer{Accepted: true, Held: n.standing(a.group) == Held}
	list := slices.Clone(n.answers[identity])
	if at := slices.IndexFunc(list, func(o naiveAnswer) bool { return o.group == a.group }); at >= 0 {
		answer.Original = &list[at].text
		if list[at] == a && len(list) <= int(n.config.AnswersPerViewer) {
			return answer
		}
		list = slices.Delete(slices.Clone(list), at, at+1)
	}
	for len(list) >= int(n.config.AnswersPerViewer) {
		if answer.Original == nil {
			answer.Original = &list[0].text
		}
		list = list[1:]
	}
	n.answers[identity] = append(slices.Clone(list), a)
	return answer
}

func (n *naive) moderate(e answerEntry) (refused bool) {
	named := func(key string) string {
		if n.decided(key) || n.holders(key) > 0 {
			return key
		}
		return n.fold(key).group
	}
	group := named(e.key)
	into := ""
	if e.kind == entryMerged {
		if into = n.root(named(e.group)); into == group {
			return true
		}
		if !n.decided(into) {
			n.state[into] = Visible
			delete(n.held, into)
		}
	}
	if !n.decided(group) || n.state[group] != Hidden {
		n.hid[group] = e.actor // a repetition has no effect
	}
	n.state[group] = Visible
	if e.kind == entryHidden {
		n.state[group] = Hidden
	}
	delete(n.held, group)
	n.into[group] = into
	return false
}

// anyCommand returns a command of a history: with moderation, one of all kinds.
func anyCommand(rng *rand.Rand, moderated bool) questionCommand {
	answer := func() string { return string(rune('a' + rng.IntN(6))) }
	if moderated {
		answer = func() string {
			return []string{"a", "A", " a", "b", "B", "c", "Bad c", "bad", "d  ", "D", "e"}[rng.IntN(11)]
		}
	}
	switch kind := rng.IntN(80); {
	case kind < 2:
		return questionCommand{answerEntry: answerEntry{kind: entryCleared}}
	case kind < 6 && moderated:
		c := DefaultConfig()
		c.Normalization = []contract.Normalization{contract.ExactAnswers, contract.CompatibleAnswers, contract.CompatibleAnswers}[rng.IntN(3)]
		c.AnswersPerViewer = 1 + rng.Int64N(3)
		c.HoldAnswers = rng.IntN(2) == 0
		if rng.IntN(2) == 0 {
			c.Blocked = []string{"BAD"}
		}
		return questionCommand{answerEntry: answerEntry{kind: entryConfigured, config: &c}}
	case kind < 20 && moderated:
		e := answerEntry{kind: entryShown + entryKind(rng.IntN(3)), key: answer()}
		if rng.IntN(4) > 0 { // earlier releases wrote none
			e.actor = StaffActor{Role: "broadcaster", ID: fmt.Sprint("S", rng.IntN(3))}
		}
		if e.kind == entryMerged {
			e.group = answer()
		}
		return questionCommand{answerEntry: e}
	}
	return questionCommand{answerEntry: answerEntry{identity: fmt.Sprint("U", rng.IntN(12)), key: answer()}}
}

// Random histories, decided in batches through forks as the engine does, agree
// with the naive model at every batch; so does a board restored from a snapshot.
func TestHistoriesAgreeWithTheModel(t *testing.T) { // section 4.3
	for seed := range uint64(100) {
		checkHistory(t, rand.New(rand.NewPCG(seed, 0)), seed%2 == 1)
	}
}

func FuzzHistory(f *testing.F) {
	f.Fuzz(func(t *testing.T, seed, more uint64, moderated bool) {
		checkHistory(t, rand.New(rand.NewPCG(seed, more)), moderated)
	})
}

func checkHistory(t *testing.T, rng *rand.Rand, moderated bool) {
	t.Helper()
	rules, b, model := questionRules{}, newBoard(), newNaive()
	for range 20 {
		fork := rules.Fork(b)
		var log []byte
		for range rng.IntN(8) {
			c := anyCommand(rng, moderated)
			d, err := rules.Decide(fork, 0, c)
			want, refused := model.do(c)
			if refused != (fault.KindOf(err) == fault.Invalid) || !refused && err != nil {
				t.Fatalf("%+v: %v", c, err)
			}
			if diff := gocmp.Diff(want, d.Result.Answer); diff != "" {
				t.Fatalf("%+v (-want +got):\n%s", c, diff)
			}
			if d.Store {
				rules.Apply(fork, 0, d.Entry)
				log = rules.AppendEntry(log, d.Entry)
			}
		}
		r := wire.NewReader(log)
		for len(r.Rest()) > 0 {
			rules.Apply(b, 0, rules.DecodeEntry(r))
		}
		snapshot := wire.NewReader(rules.AppendSnapshot(nil, b))
		restored := rules.RestoreSnapshot(snapshot)
		if err := errors.Join(r.End(), snapshot.End()); err != nil {
			t.Fatal(err)
		}
		if !rules.Equal(b, restored) || rules.Size(b) != rules.Size(restored) || b.decisions != restored.decisions {
			t.Fatalf("restored: size %d, was %d", rules.Size(restored), rules.Size(b))
		}
		for s := range standings {
			for _, limit := range []int{1, 3, 100} {
				if diff := gocmp.Diff(model.top(s, limit), b.topScores(s, limit)); diff != "" {
					t.Fatalf("top %d of %d (-want +got):\n%s", limit, s, diff)
				}
				if diff := gocmp.Diff(b.topScores(s, limit), restored.topScores(s, limit)); diff != "" {
					t.Fatalf("restored top %d of %d (-want +got):\n%s", limit, s, diff)
				}
			}
		}
	}
	checkErasure(t, b)
}

// checkErasure checks that the ranks do not depend on the ids of viewers.
func checkErasure(t *testing.T, b *answerBoard) {
	t.Helper()
	before := [][]Score{b.topScores(Visible, 100), b.topScores(Held, 100), b.topScores(Hidden, 100)}
	renamed := questionRules{}.Rename(b, func(id string) string { return "x" + id })
	for i, s := range before[Hidden] {
		if s.Actor.ID != "" {
			before[Hidden][i].Actor.ID = "x" + s.Actor.ID
		}
	}
	after := [][]Score{renamed.topScores(Visible, 100), renamed.topScores(Held, 100), renamed.topScores(Hidden, 100)}
	if diff := gocmp.Diff(before, after); diff != "" {
		t.Fatalf("after an erasure (-want +got):\n%s", diff)
	}
	for identity := range renamed.newest {
		if identity[0] != 'x' {
			t.Fatalf("%s is left", identity)
		}
	}
}

func TestNothingIsStoredWhereNothingChanges(t *testing.T) {
	b, rules := newBoard(), questionRules{}
	check := func(what string, e answerEntry, stored bool) {
		t.Helper()
		d, err := rules.Decide(b, 0, questionCommand{answerEntry: e})
		if err != nil || d.Store != stored {
			t.Errorf("%s: stored %t, %v", what, d.Store, err)
		}
		if d.Store {
			rules.Apply(b, 0, d.Entry)
		}
	}
	check("clearing an empty question", answerEntry{kind: entryCleared}, false)
	check("an answer", answerEntry{identity: "U1", key: "tea"}, true)
	check("it again", answerEntry{identity: "U1", key: "tea"}, false)
	config := DefaultConfig()
	for _, e := range []answerEntry{
		{kind: entryConfigured, config: &config}, {kind: entryShown, key: "tea"}, {kind: entryHidden, key: "tea"}, {kind: entryMerged, key: "tea", group: "mate"},
	} {
		check("a change", e, true)
		check("it again", e, false)
	}
}

// An imported log may merge groups in a circle.
func TestCirclesEnd(t *testing.T) {
	b, rules := newBoard(), questionRules{}
	fork := rules.Fork(b)
	for _, board := range []*answerBoard{b, fork} {
		for _, e := range []answerEntry{
			{kind: entryMerged, key: "a", group: "b"}, {kind: entryMerged, key: "b", group: "c"}, {kind: entryMerged, key: "c", group: "a"}, {identity: "U1", key: "a"},
		} {
			rules.Apply(board, 0, e)
		}
		if root, _ := board.rootOf("a"); root != "c" {
			t.Errorf("a belongs to %s", root)
		}
	}
}

func TestDecisionsAreBounded(t *testing.T) {
	b, rules := newBoard(), questionRules{}
	for i := range 2 * contract.MaxDecisions {
		d, err := rules.Decide(b, 0, questionCommand{answerEntry: answerEntry{kind: entryHidden, key: fmt.Sprint(i)}})
		if err != nil {
			break
		}
		rules.Apply(b, 0, d.Entry)
	}
	if b.decisions < contract.MaxDecisions-1 || b.decisions > contract.MaxDecisions {
		t.Errorf("%d decisions", b.decisions)
	}
	if d, err := rules.Decide(b, 0, questionCommand{answerEntry: answerEntry{kind: entryShown, key: "7"}}); err != nil || !d.Store {
		t.Errorf("a decision cannot be changed: %v", err)
	}
}

func FuzzDecodeEntry(f *testing.F) {
	config := DefaultConfig()
	for _, e := range []answerEntry{
		{identity: "U1", key: "tea"}, {kind: entryCleared}, {identity: "U1", key: "Tea", group: "tea", keep: 2, held: true},
		{kind: entryConfigured, config: &config}, {kind: entryMerged, key: "a", group: "b"}, {kind: entryShown, key: "a"},
	} {
		f.Add(questionRules{}.AppendEntry(nil, e))
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		questionRules{}.RestoreSnapshot(wire.NewReader(encoded)) // must not panic
		r := wire.NewReader(encoded)
		e := questionRules{}.DecodeEntry(r)
		if r.Err() != nil {
			return
		}
		r = wire.NewReader(questionRules{}.AppendEntry(nil, e))
		if again := (questionRules{}).DecodeEntry(r); r.End() != nil || !gocmp.Equal(normal(again), normal(e), gocmp.AllowUnexported(answerEntry{})) {
			t.Errorf("%+v came back as %+v, %v", e, again, r.End())
		}
	})
}

// normal returns an entry in one of the forms that mean the same.
func normal(e answerEntry) answerEntry {
	if e.kind == entryAnswered {
		e.group, e.keep = e.groupKey(), e.capacity()
	}
	return e
}

func BenchmarkTop(b *testing.B) {
	full := newBoard()
	for i := range 100_000 {
		full.setAnswer(answerEntry{identity: fmt.Sprint("U", i), key: fmt.Sprint("key", i%5_000)})
	}
	for b.Loop() {
		full.topScores(Visible, 100)
	}
}
