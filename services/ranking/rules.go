package ranking

import (
	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// questionCommand is an entry to be or, as a query, asks for the best answers or for the
// configuration.
type questionCommand struct {
	answerEntry
	existing bool     // only to a question that exists
	top      int      // of a query: how many
	standing Standing // of a query: which
	asks     bool     // for the configuration
	change   *Change  // of the configuration
}

// commandResult is the result of a command or a query.
type commandResult struct {
	Answer
	top    []Score
	held   int     // groups, after a query for the best answers
	config *Config // after a query or a change; nil: there is none
}

type questionDecision = stream.Decision[answerEntry, commandResult]

// questionRules hands the domain to the stream engine.
type questionRules struct{}

var _ stream.Rules[*answerBoard, questionCommand, answerEntry, commandResult] = questionRules{}

func (questionRules) New() *answerBoard                { return newBoard() }
func (questionRules) Fork(b *answerBoard) *answerBoard { return b.newFork() }
func (questionRules) Size(b *answerBoard) int          { return b.memorySize() }

// SnapshotFormat implements [stream.SnapshotEncoding]. It has stayed the same since there
// are configurations: a state without any has the same encoding as before, and an earlier
// release takes another one for damage.
func (questionRules) SnapshotFormat() uint32 { return 1 }

func (questionRules) Decide(b *answerBoard, at int64, c questionCommand) (questionDecision, error) {
	if c.change != nil {
		return b.change(*c.change, at)
	}
	switch c.kind {
	case entryCleared:
		return questionDecision{Entry: c.answerEntry, Store: !b.isEmpty()}, nil
	case entryConfigured:
		return b.configure(*c.config, at)
	case entryAnswered:
		if c.existing && !b.exists() {
			return questionDecision{}, fault.New(fault.NotFound, "The question does not exist")
		}
		return b.submit(c.answerEntry, at), nil
	}
	return b.moderate(c.answerEntry)
}

// submit decides about an answer as its identity wrote it.
func (b *answerBoard) submit(e answerEntry, at int64) questionDecision {
	if b.filter != nil {
		var reason string
		if e.key, e.group, reason = b.filter.judgeAnswer(e.key, at); reason != "" {
			return questionDecision{Result: commandResult{Answer: Answer{Reason: reason}}}
		}
		e.keep = int(b.filter.AnswersPerViewer)
	}
	_, root := b.rootOf(e.groupKey())
	if own := b.standingOf(e.groupKey()); !own.decided {
		e.held = own.exists() && own.standing == Held || !own.exists() && b.filter != nil && b.filter.HoldAnswers
		root.standing = e.standing()
	}
	result := commandResult{Answer: Answer{Accepted: true, Held: root.standing == Held}}
	_, replaced := replaceAnswers(b.answersOf(e.identity), e.groupKey(), e.capacity())
	if len(replaced) == 0 {
		return questionDecision{Entry: e, Store: true, Result: result}
	}
	old := replaced[0]
	result.Original = &old.text
	same := len(replaced) == 1 && old.text == e.key && old.group.key == e.groupKey()
	return questionDecision{Entry: e, Store: !same, Storable: true, Result: result}
}

func (b *answerBoard) configure(c Config, at int64) (questionDecision, error) {
	c.ResolveEnd(at)
	if err := c.checkLimits(); err != nil {
		return questionDecision{}, err
	}
	if b.filter != nil && string(b.encodeConfig()) == string(c.encodeJSON()) {
		return questionDecision{}, nil
	}
	return questionDecision{Entry: answerEntry{kind: entryConfigured, config: &c}, Store: true}, nil
}

// moderate decides about a decision of staff, which may name a group by its key or an answer. The
// number of decisions is limited, and so are the chains of merged groups.
func (b *answerBoard) moderate(e answerEntry) (questionDecision, error) {
	e.key = b.groupNamed(e.key)
	if e.kind == entryMerged {
		if e.group, _ = b.rootOf(b.groupNamed(e.group)); e.group == e.key {
			return questionDecision{}, fault.New(fault.Invalid, "An answer cannot be merged with itself")
		}
	}
	if e.key == "" || e.kind == entryMerged && e.group == "" {
		return questionDecision{}, errModeration()
	}
	g := b.standingOf(e.key)
	if b.decisionCount() > contract.MaxDecisions-2 && !g.decided {
		return questionDecision{}, fault.Newf(fault.Invalid, "A question has at most %d moderated answers", contract.MaxDecisions)
	}
	before := g.decision(e.key)
	before.actor = e.actor
	return questionDecision{Entry: e, Store: !g.decided || before != e}, nil
}

func errModeration() error {
	return fault.Newf(fault.Invalid, "key and into must have 1 to %d bytes", contract.MaxAnswer)
}

// groupNamed returns the key of the group that has the key or, otherwise, to which an answer
// would belong.
func (b *answerBoard) groupNamed(key string) string {
	if b.filter == nil || b.standingOf(key).exists() {
		return key
	}
	_, group := b.filter.normalize(key)
	return group
}

func (questionRules) Answer(b *answerBoard, c questionCommand, r commandResult) commandResult {
	if c.top > 0 {
		r.top, r.held = b.topScores(c.standing, c.top), b.ranks[Held].Len()
	}
	if (c.asks || c.top > 0) && b.filter != nil {
		r.config = b.filter.Config
	}
	return r
}

// RepeatResult names the answer that the identity has now as the one before.
func (questionRules) RepeatResult(b *answerBoard, c questionCommand) commandResult {
	r := commandResult{Answer: Answer{Accepted: true}}
	if answers := b.answersOf(c.identity); len(answers) > 0 {
		newest := answers[len(answers)-1]
		_, root := b.rootOf(newest.group.key)
		r.Original, r.Held = &newest.text, root.standing == Held
	}
	return r
}

// ReconstructResult implements [stream.Decider].
func (questionRules) ReconstructResult(c questionCommand) (commandResult, error) {
	if c.kind != entryAnswered {
		return commandResult{}, nil
	}
	return commandResult{}, fault.New(fault.Uncertain, "The answer was stored; which one it replaced is not known")
}

func (questionRules) Apply(b *answerBoard, _ int64, e answerEntry) {
	switch e.kind {
	case entryAnswered:
		b.setAnswer(e)
	case entryCleared:
		b.clearAll()
	case entryConfigured:
		b.filter = newFilter(e.config)
	case entryShown:
		b.decideGroup(e.key, Visible, "", e.actor)
	case entryHidden:
		b.decideGroup(e.key, Hidden, "", e.actor)
	case entryMerged:
		b.decideGroup(e.key, Visible, e.group, e.actor)
	}
}

func (questionRules) Identities(e answerEntry) []string { return []string{e.identity, e.actor.ID} }

// Redact drops nothing: an answer counts, and so does a decision.
func (questionRules) Redact(e answerEntry, rename func(string) string, _ bool) answerEntry {
	if e.kind == entryAnswered {
		e.identity = rename(e.identity)
	}
	if e.actor.ID != "" {
		e.actor.ID = rename(e.actor.ID)
	}
	return e
}

func (r questionRules) Rename(b *answerBoard, rename func(string) string) *answerBoard {
	renamed := newBoard()
	for e := range b.entries() {
		r.Apply(renamed, 0, r.Redact(e, rename, false))
	}
	return renamed
}

func (r questionRules) AppendSnapshot(buf []byte, b *answerBoard) []byte {
	for e := range b.entries() {
		buf = r.AppendEntry(buf, e)
	}
	return buf
}

func (questionRules) RestoreSnapshot(r *wire.Reader) *answerBoard {
	b, rules := newBoard(), questionRules{}
	for len(r.Rest()) > 0 {
		e := rules.DecodeEntry(r)
		if e.kind == entryCleared {
			r.Fail(wire.ErrMalformed)
		}
		if r.Err() == nil {
			rules.Apply(b, 0, e)
		}
	}
	return b
}
