package stream

import "github.com/acclaim-dev/acclaim/services/internal/batch"

// call is what is submitted to a stream as one: commands, which one chunk will
// hold, and queries, which are answered after them.
type call[C, R any] struct {
	commands []C
	queries  []C
	// outcomes are those of the commands, then those of the queries.
	outcomes []outcome[R]
	// err is why there are no outcomes.
	err error
	// head is how far the log had come when the outcomes were known.
	head uint64
	// look asks to look for chunks that this engine has not appended.
	look bool
	// group says where the call came from if it was another process.
	group group

	// The one command or query of most calls, and its outcome.
	single [1]C
	only   [1]outcome[R]
}

// outcome is what a command or query came to.
type outcome[R any] struct {
	result R
	err    error
}

type item[C, R any] = batch.Item[*call[C, R]]

func newCommand[C, R any](command C) *call[C, R] {
	c := &call[C, R]{single: [1]C{command}}
	c.commands, c.outcomes = c.single[:], c.only[:]
	return c
}

func newQuery[C, R any](query C) *call[C, R] {
	c := &call[C, R]{single: [1]C{query}}
	c.queries, c.outcomes = c.single[:], c.only[:]
	return c
}

// complete turns what was decided into answers, read from a state that includes
// the call's commands.
func (l *log[S, C, E, R]) complete(c *call[C, R]) {
	if c.err != nil {
		return
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	rules := l.engine.rules
	c.head = l.head.Seq
	for i, command := range c.commands {
		if o := &c.outcomes[i]; o.err == nil {
			o.result = rules.Answer(l.state, command, o.result)
		}
	}
	for i, query := range c.queries {
		var none R
		c.outcomes[len(c.commands)+i].result = rules.Answer(l.state, query, none)
	}
}
