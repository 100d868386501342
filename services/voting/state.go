package voting

import "sync/atomic"

// State is everything a poll's log adds up to. The rules change it through
// entries alone; between two changes any number of goroutines may read it.
type State struct {
	config    *Config // nil: none was saved
	voters    voterBallots
	cast      castVersions // of the records of voters
	modifiers modifierSums
	tally     voteSums
	decay     decayedSum
	// used reports whether entries followed the beginning of the log or its last reset.
	used bool
	// resets counts how often everything but the log was deleted.
	resets uint64
	// deleted is the version of the configuration that the last reset has deleted, 0 if there was none or
	// the process has started since. No version is given to two configurations: either commands of one
	// millisecond follow one another here, or the clock has passed the version.
	deleted int64
	// cleared is the configuration that the change after a clearCommand changes; only of a fork.
	cleared *Config
	// list is nil unless the votes can be checked, or could. ended is the one before.
	list, ended *publicList
	// statistics are those of the present state, computed on the first read.
	statistics atomic.Pointer[Statistics]
	// devices are those among the voters, counted when they are asked for.
	devices atomic.Pointer[countedDevices]
	// base is the state that this one was forked from; nil where this is no fork.
	base *State
}

// fork returns a scratch state for deciding a batch. It has no sums: only the decision of a tie
// needs them, and computes them.
func (s *State) fork() *State {
	return &State{
		config:    s.config,
		voters:    s.voters.fork(),
		modifiers: s.modifiers.fork(),
		used:      s.used,
		resets:    s.resets,
		deleted:   s.deleted,
		list:      s.list.fork(),
		base:      s,
	}
}

// exists reports whether the log has entries.
func (s *State) exists() bool { return s.used || s.resets > 0 }

// currentConfig returns the configuration in force.
func (s *State) currentConfig() Config {
	if s.config == nil {
		return DefaultConfig()
	}
	return *s.config
}

// currentVersion returns the version of the configuration in force, 0 where there is none.
func (s *State) currentVersion() int64 {
	if s.config == nil {
		return 0
	}
	return s.config.Version
}

// Statistics returns the statistics of the present state, computed once.
func (s *State) Statistics() *Statistics {
	if known := s.statistics.Load(); known != nil {
		return known
	}
	fresh := newStatistics(s.tally, s.decay.reportDecay())
	if s.statistics.CompareAndSwap(nil, fresh) {
		return fresh
	}
	return s.statistics.Load()
}

// latestVote returns the voter's latest vote, nil when there is none.
func (s *State) latestVote(v Voter) *int64 {
	id, ok := v.identityIn(s.currentConfig().UserIDVoting)
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

// voteWeight returns how often each stored vote of the identity counts: rule 5 of
// section 2.2.
func (s *State) voteWeight(id string) int64 { return max(0, 1+s.modifiers.get(id)) }

// countBallot adds the ballot's options to the sums with the given weight.
func (s *State) countBallot(b ballot, weight int64) {
	if s.voters.isFork() {
		return
	}
	s.tally.addBallot(b, weight)
}

// resetAll deletes everything but the log. cleared is the configuration that is saved again, nil for none.
func (s *State) resetAll(cleared *Config) {
	s.deleted = max(s.deleted, s.currentVersion())
	if s.base != nil {
		s.cleared = cleared
	}
	s.config, s.tally, s.decay, s.used = nil, voteSums{}, decayedSum{}, false
	s.resets++
	s.cast = castVersions{}
	s.voters.clear()
	s.devices.Store(nil)
	s.modifiers.clear()
}

// memorySize returns roughly how many bytes the state keeps resident.
func (s *State) memorySize() int {
	return 2048 + s.voters.table.memorySize() + s.cast.memorySize() + s.modifiers.size + s.list.memorySize()
}

// modifierSums holds the sum of the modifiers of each identifier, whether or not
// it has voted. A fork keeps its changes to itself.
type modifierSums struct {
	total map[string]int64
	size  int // of total, roughly, in bytes
	base  *modifierSums
}

func (m *modifierSums) fork() modifierSums { return modifierSums{base: m} }

func (m *modifierSums) get(id string) int64 {
	if n, ok := m.total[id]; ok || m.base == nil {
		return n
	}
	return m.base.get(id)
}

func (m *modifierSums) set(id string, total int64) {
	if m.total == nil {
		m.total = map[string]int64{}
	}
	if _, ok := m.total[id]; !ok {
		m.size += len(id) + modifierOverhead
	}
	m.total[id] = total
}

func (m *modifierSums) clear() { *m = modifierSums{} }

// modifierOverhead is the memory of a modifier beside the identifier, in bytes.
const modifierOverhead = 64
