package stream

import (
	"github.com/acclaim-dev/acclaim/services/internal/engine/batch"
	"github.com/acclaim-dev/acclaim/services/internal/engine/batchtrace"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
)

// submittedCall holds commands and queries that are submitted to a stream together:
// one chunk will hold the commands, and the queries are answered after them.
type submittedCall[C, R any] struct {
	commands []C
	queries  []C
	// outcomes are those of the commands, then those of the queries.
	outcomes []commandOutcome[R]
	// err is set when there are no outcomes.
	err error
	// head is the last chunk when the outcomes were known.
	head Position
	// spans are the commands that have keys, in their order.
	spans []keyedSpan
	// resultless is set when only the refusals of the commands are needed.
	resultless bool
	// here is set when this engine must run the call, whichever process owns the stream.
	here bool
	// refresh makes the worker read chunks that this engine has not appended.
	refresh bool
	// group is the origin of a call that another process forwarded.
	group groupOrigin
	// traces are those that the call is part of, nil for a call that is not sampled.
	traces *batchtrace.Call

	// The one command or query of most calls, and its outcome.
	single [1]C
	only   [1]commandOutcome[R]
}

// commandOutcome holds the result of a command or query, or the error.
type commandOutcome[R any] struct {
	result R
	err    error
	// replayed is set if the command was not decided, because its key was known.
	replayed bool
}

// makeOutcomes makes room for the outcomes of what is in the call.
func (c *submittedCall[C, R]) makeOutcomes() {
	c.outcomes = c.only[:]
	if n := len(c.commands) + len(c.queries); n != 1 {
		c.outcomes = make([]commandOutcome[R], n)
	}
}

type callItem[C, R any] = batch.Item[*submittedCall[C, R]]

func newCommand[C, R any](command C) *submittedCall[C, R] {
	c := &submittedCall[C, R]{single: [1]C{command}}
	c.commands, c.outcomes = c.single[:], c.only[:]
	return c
}

func newKeyed[C, R any](command C, keys []*once.Key) *submittedCall[C, R] {
	c := newCommand[C, R](command)
	if key := once.First(keys); key != nil {
		c.spans = []keyedSpan{{count: 1, key: key}}
	}
	return c
}

func newQuery[C, R any](query C) *submittedCall[C, R] {
	c := &submittedCall[C, R]{single: [1]C{query}}
	c.queries, c.outcomes = c.single[:], c.only[:]
	return c
}

// newBatch returns a call of several commands, whose results are not needed, and a query
// after them.
func newBatch[C, R any](commands []C, query C) *submittedCall[C, R] {
	return &submittedCall[C, R]{
		commands: commands, queries: []C{query}, resultless: true,
		outcomes: make([]commandOutcome[R], len(commands)+1),
	}
}

// completeCall turns what was decided into answers, read from a state that includes
// the call's commands.
func (l *streamLog[S, C, E, R]) completeCall(c *submittedCall[C, R]) {
	if c.err != nil {
		return
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	rules := l.engine.rules
	c.head = l.head.position()
	for i, command := range c.commands {
		if c.resultless {
			break
		}
		if o := &c.outcomes[i]; o.err == nil {
			o.result = rules.Answer(l.state, command, o.result)
		}
	}
	for i, query := range c.queries {
		var none R
		c.outcomes[len(c.commands)+i].result = rules.Answer(l.state, query, none)
	}
}
