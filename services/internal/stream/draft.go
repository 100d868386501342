package stream

import (
	"errors"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// draft is a chunk while its commands are decided.
type draft[S, C, E, R any] struct {
	log    *log[S, C, E, R]
	at     int64
	state  S
	forked bool

	groups  []membership
	entries []E
	payload []byte // noGroups and the entries
}

// full reports whether no further call should join the chunk.
func (d *draft[S, C, E, R]) full() bool {
	return len(d.payload) > d.log.engine.options.PayloadLimit
}

// add decides the commands of a call. Nobody looks at the state after the last
// call's last command.
func (d *draft[S, C, E, R]) add(c *call[C, R], last bool) {
	c.err = nil
	if c.group.foreign() {
		d.addGroup(c)
		return
	}
	for i, command := range c.commands {
		d.decide(command, &c.outcomes[i], last && i == len(c.commands)-1)
	}
}

// addGroup decides the commands of a group, but for those that the log has
// already.
func (d *draft[S, C, E, R]) addGroup(c *call[C, R]) {
	stored, known, err := d.recognise(&c.group)
	if err != nil {
		c.err, c.head = err, d.log.head.Seq
		return
	}
	member := membership{c.group.id, newBitmap(len(c.commands))}
	before := len(d.entries)
	for i, command := range c.commands {
		o := &c.outcomes[i]
		switch {
		case stored.has(i):
			o.result, o.err = d.log.engine.rules.Recover(command)
		case known && !c.group.recovery:
			// Whoever sent this a second time has nobody waiting for an answer.
			o.err = fault.New(fault.Uncertain, "the command was dealt with before")
		case d.decide(command, o, false):
			member.stored.set(i)
		}
	}
	// A group that is recovered is noted even if all of it was refused: else it
	// could still be accepted when the request that was lost arrives after all.
	if !known && (len(d.entries) > before || c.group.recovery) {
		d.groups = append(d.groups, member)
	}
}

// recognise returns which commands of a group the log has already, and whether
// it has the group at all.
func (d *draft[S, C, E, R]) recognise(g *group) (stored bitmap, known bool, err error) {
	if g.known {
		return g.stored, true, nil
	}
	if stored, known = d.log.memory.stored[g.id]; known {
		return stored, true, nil
	}
	if slices.ContainsFunc(d.groups, func(m membership) bool { return m.id == g.id }) {
		return nil, true, nil // delivered twice
	}
	if g.floor < d.log.memory.floor {
		return nil, false, errStale
	}
	return nil, false, nil
}

// decide runs the rules over one command and reports whether it has an entry.
func (d *draft[S, C, E, R]) decide(command C, o *outcome[R], last bool) bool {
	rules := d.log.engine.rules
	decision, err := rules.Decide(d.state, d.at, command)
	o.result, o.err = decision.Result, err
	if err != nil || !decision.Store {
		return false
	}
	d.entries = append(d.entries, decision.Entry)
	d.payload = rules.AppendEntry(d.payload, decision.Entry)
	if last {
		return true
	}
	if !d.forked {
		d.state, d.forked = rules.Fork(d.state), true
	}
	rules.Apply(d.state, d.at, decision.Entry)
	return true
}

// errStale is that of a group whose sender knows too little of the log: its
// commands may be in chunks that are no longer remembered. Nothing was stored
// for this call.
var errStale = errors.New("stream: the group's floor is too low")

// chunk returns the draft as the chunk after head.
func (d *draft[S, C, E, R]) chunk(head Head) Chunk {
	payload := d.payload
	if len(d.groups) > 0 {
		payload = append(appendMemberships(nil, d.groups), payload[len(noGroups):]...)
	}
	return Chunk{
		Stream:  d.log.name,
		Seq:     head.Seq + 1,
		At:      d.at,
		ID:      d.log.engine.random.id(),
		Prev:    head.Sum,
		Count:   len(d.entries),
		Payload: payload,
	}
}
