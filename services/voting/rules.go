package voting

import "github.com/acclaim-dev/acclaim/services/internal/stream"

// rules hands the domain to the stream engine.
type rules struct {
	halfLife float64 // of the decay, in milliseconds
}

var _ stream.Rules[*State, Command, Entry, Answer] = rules{}

func (r rules) New() *State            { return newState(r.halfLife) }
func (r rules) Fork(s *State) *State   { return s.fork() }
func (r rules) Size(s *State) int      { return s.size() }
func (r rules) SnapshotFormat() uint32 { return 2 }

func (r rules) Decide(s *State, at int64, c Command) (decision, error) { return c.decide(s, at) }

func (r rules) Answer(s *State, c Command, _ Answer) Answer { return c.answer(s) }

// Recover needs nothing: all of an answer is read from the state.
func (r rules) Recover(Command) (Answer, error) { return Answer{}, nil }

func (r rules) Apply(s *State, at int64, e Entry) {
	s.statistics.Store(nil)
	e.apply(s, at)
}

func (r rules) AppendEntry(buf []byte, e Entry) []byte { return e.append(buf) }

func (r rules) DecodeEntry(buf []byte) (Entry, []byte, error) {
	d := &decoder{buf: buf}
	entry := decodeEntry(d)
	return entry, d.buf, d.err
}

func (r rules) Identities(e Entry) []string {
	switch e := e.(type) {
	case voted:
		return []string{e.voter.OpaqueID, e.voter.UserID}
	case modified:
		return []string{e.user}
	}
	return nil
}

// Redact drops nothing: what a vote says counts.
func (r rules) Redact(e Entry, name func(string) string, _ bool) Entry {
	switch e := e.(type) {
	case voted:
		e.voter = Voter{OpaqueID: name(e.voter.OpaqueID), UserID: name(e.voter.UserID)}
		return e
	case modified:
		e.user = name(e.user)
		return e
	}
	return e
}

func (r rules) Rename(s *State, name func(string) string) *State {
	renamed := newState(s.halfLife)
	renamed.config, renamed.tally, renamed.decay, renamed.used = s.config, s.tally, s.decay, s.used
	for i := range s.voters.table.records {
		id := s.voters.table.identity(i)
		renamed.voters.table.set(name(id), s.voters.table.get(id))
	}
	for id, total := range s.modifiers.total {
		renamed.modifiers.set(name(id), total)
	}
	return renamed
}

func (r rules) AppendCommand(buf []byte, c Command) []byte { return c.append(buf) }

func (r rules) DecodeCommand(buf []byte) (Command, []byte, error) {
	d := &decoder{buf: buf}
	command := decodeCommand(d)
	return command, d.buf, d.err
}

func (r rules) AppendResult(buf []byte, a, before Answer) []byte { return a.append(buf, before) }

func (r rules) DecodeResult(buf []byte, before Answer) (Answer, []byte, error) {
	d := &decoder{buf: buf}
	answer := decodeAnswer(d, before)
	return answer, d.buf, d.err
}

func (r rules) AppendSnapshot(buf []byte, s *State) []byte { return s.appendSnapshot(buf) }

func (r rules) RestoreSnapshot(buf []byte) (*State, error) {
	return restoreState(buf, r.halfLife)
}
