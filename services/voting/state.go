package voting

import "sync/atomic"

// State is everything a poll's log adds up to. The rules change it through
// entries alone; between two changes any number of goroutines may read it.
type State struct {
	halfLife  float64 // milliseconds
	config    *Config // nil: none was saved
	voters    voters
	modifiers modifiers
	tally     tally
	decay     decay
	// used says that something happened since the log began or was reset.
	used bool
	// resets counts how often everything but the log was deleted.
	resets uint64
	// statistics are those of the present state, once somebody asked.
	statistics atomic.Pointer[Statistics]
}

func newState(halfLife float64) *State { return &State{halfLife: halfLife} }

// fork returns a scratch state for deciding a batch.
func (s *State) fork() *State {
	return &State{
		halfLife:  s.halfLife,
		config:    s.config,
		voters:    s.voters.fork(),
		modifiers: s.modifiers.fork(),
		tally:     s.tally,
		decay:     s.decay,
		used:      s.used,
		resets:    s.resets,
	}
}

// rules returns the configuration in force.
func (s *State) rules() Config {
	if s.config == nil {
		return DefaultConfig()
	}
	return *s.config
}

// Statistics returns the statistics of the present state, computed once.
func (s *State) Statistics() *Statistics {
	if known := s.statistics.Load(); known != nil {
		return known
	}
	fresh := newStatistics(s.tally, s.decay.report())
	if s.statistics.CompareAndSwap(nil, fresh) {
		return fresh
	}
	return s.statistics.Load()
}

// known returns the voter's latest vote, nil when there is none.
func (s *State) known(v Voter) *int64 {
	id, ok := v.identity(s.rules().UserIDVoting)
	if !ok {
		return nil
	}
	b := s.voters.get(id)
	if !b.stored {
		return nil
	}
	vote := int64(b.last)
	return &vote
}

// weight returns how often each stored vote of the identity counts: rule 5 of
// section 2.2.
func (s *State) weight(id string) int64 { return max(0, 1+s.modifiers.get(id)) }

// count adds the ballot's options to the sums with the given weight.
func (s *State) count(b ballot, weight int64) {
	for _, o := range b.options {
		s.tally.add(int64(o.value), int64(o.times), weight)
	}
}

func (s *State) reset() {
	s.config, s.tally, s.decay, s.used = nil, tally{}, decay{}, false
	s.resets++
	s.voters.clear()
	s.modifiers.clear()
}

// size returns roughly how many bytes the state keeps resident.
func (s *State) size() int {
	return 2048 + s.voters.table.size() + s.modifiers.size
}

// modifiers holds the sum of the modifiers of each identifier, whether or not
// it has voted. A fork keeps its changes to itself.
type modifiers struct {
	total map[string]int64
	size  int // of total, roughly, in bytes
	base  *modifiers
}

func (m *modifiers) fork() modifiers { return modifiers{base: m} }

func (m *modifiers) get(id string) int64 {
	if n, ok := m.total[id]; ok || m.base == nil {
		return n
	}
	return m.base.get(id)
}

func (m *modifiers) set(id string, total int64) {
	if m.total == nil {
		m.total = map[string]int64{}
	}
	if _, ok := m.total[id]; !ok {
		m.size += len(id) + modifierOverhead
	}
	m.total[id] = total
}

func (m *modifiers) clear() { *m = modifiers{} }

// modifierOverhead is what a modifier costs in memory beside the identifier, in
// bytes.
const modifierOverhead = 64
