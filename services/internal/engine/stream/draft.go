package stream

import (
	"errors"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// chunkDraft is a chunk while its commands are decided.
type chunkDraft[S, C, E, R any] struct {
	log    *streamLog[S, C, E, R]
	at     int64
	state  S
	forked bool

	decided int // commands
	header  chunkHeader
	drafted map[keyDigest]int // the keys of the header
	// newKeys counts those of them that need room. While room is short, own counts the keys of
	// each owner in the draft, and oldKeys those that its chunk will drop.
	newKeys, oldKeys int
	own              map[once.Owner]int
	// keyed is set while commands are decided that have a key.
	keyed bool
	// marks is set once a decision needs a chunk of this time, with entries or without.
	marks   bool
	entries []E
	payload []byte // noGroups and the entries
}

// isFull reports whether no further call should join the chunk.
func (d *chunkDraft[S, C, E, R]) isFull() bool {
	return len(d.payload) > d.log.engine.tuning.PayloadLimit || d.decided >= chunkCommands
}

// chunkCommands is the number of decided commands after which no further call joins a chunk:
// refused ones add no bytes to it.
const chunkCommands = 16_384

// addCall decides the commands of a call. The state after the last call's
// last command is not needed.
func (d *chunkDraft[S, C, E, R]) addCall(c *submittedCall[C, R], last bool) {
	c.err = nil
	d.decided += len(c.commands)
	if c.group.isForwarded() {
		d.addGroup(c, last)
		return
	}
	d.decideCommands(c, func(i int) {
		d.decideCommand(c.commands[i], &c.outcomes[i], last && i == len(c.commands)-1)
	})
}

// addGroup decides the commands of a group, but for those that the log has
// already.
func (d *chunkDraft[S, C, E, R]) addGroup(c *submittedCall[C, R], last bool) {
	stored, known, err := d.findGroup(&c.group)
	if err != nil {
		c.err, c.head = err, d.log.head.position()
		return
	}
	member := storedGroup{c.group.id, newBitmap(len(c.commands))}
	before := len(d.entries)
	d.decideCommands(c, func(i int) {
		o := &c.outcomes[i]
		switch {
		case stored.has(i):
			o.result, o.err = d.log.engine.rules.ReconstructResult(c.commands[i])
		case known && !c.group.recovery:
			// Only a sender whose caller has given up sends a group twice.
			o.err = fault.New(fault.Uncertain, "the command was dealt with before")
		case d.decideCommand(c.commands[i], o, last && i == len(c.commands)-1):
			member.stored.set(i)
		}
	})
	// A group that is recovered is noted even if all of it was refused: else it
	// could still be accepted when the request that was lost arrives after all.
	if !known && (len(d.entries) > before || c.group.recovery) {
		d.header.groups = append(d.header.groups, member)
	}
}

// findGroup returns which commands of a group the log has already, and whether
// it has the group at all.
func (d *chunkDraft[S, C, E, R]) findGroup(g *groupOrigin) (stored commandBitmap, known bool, err error) {
	if g.known {
		return g.stored, true, nil
	}
	if stored, known = d.log.window.stored[g.id]; known {
		return stored, true, nil
	}
	if slices.ContainsFunc(d.header.groups, func(m storedGroup) bool { return m.id == g.id }) {
		return nil, true, nil // delivered twice
	}
	if g.lowWatermark < d.log.window.lowWatermark {
		return nil, false, errStaleWatermark
	}
	return nil, false, nil
}

// decideCommand runs the rules over one command and reports whether it has an entry.
func (d *chunkDraft[S, C, E, R]) decideCommand(command C, o *commandOutcome[R], last bool) bool {
	rules := d.log.engine.rules
	decision, err := rules.Decide(d.state, d.at, command)
	*o = commandOutcome[R]{result: decision.Result, err: err}
	d.marks = d.marks || err == nil && decision.Reach > d.log.head.At
	if err != nil || !decision.Store && !(d.keyed && decision.Storable) {
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

// errStaleWatermark refuses a group whose low watermark is below that of the
// de-duplication window: its commands may be in chunks that the window no longer
// covers. Nothing was stored for this call.
var errStaleWatermark = errors.New("stream: the group's low watermark is too low")

// addMark makes a chunk of a draft without entries that has to be one. It names a group without
// commands, as the chunk of a recovered group does whose commands were all refused: every release
// reads that.
func (d *chunkDraft[S, C, E, R]) addMark() {
	if d.marks && len(d.entries)+len(d.header.groups) == 0 {
		d.header.groups = []storedGroup{{id: GroupID(d.log.engine.random.newChunkID())}}
	}
}

// buildChunk returns the draft as the chunk after head.
func (d *chunkDraft[S, C, E, R]) buildChunk(head Head) Chunk {
	payload := d.payload
	if len(d.header.groups)+len(d.header.keys) > 0 {
		payload = append(d.header.encode(), payload[len(noGroups):]...)
	}
	return Chunk{
		Stream:  d.log.name,
		Seq:     head.Seq + 1,
		At:      d.at,
		ID:      d.log.engine.random.newChunkID(),
		Prev:    head.Sum,
		Count:   len(d.entries),
		Payload: payload,
	}
}
