package voting

import "github.com/acclaim-dev/acclaim/services/internal/stream"

// rules hands the domain to the stream engine.
type rules struct {
	halfLife float64 // of the decay, in milliseconds
}

var _ stream.Rules[*State, Command, Entry, struct{}] = rules{}

func (r rules) New() *State            { return newState(r.halfLife) }
func (r rules) Fork(s *State) *State   { return s.fork() }
func (r rules) Size(s *State) int      { return s.size() }
func (r rules) SnapshotFormat() uint32 { return 1 }

func (r rules) Decide(s *State, at int64, c Command) (decision, error) { return c.decide(s, at) }

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

func (r rules) AppendSnapshot(buf []byte, s *State) []byte { return s.appendSnapshot(buf) }

func (r rules) RestoreSnapshot(buf []byte) (*State, error) {
	return restoreState(buf, r.halfLife)
}
