package mongotest

import (
	"math/rand/v2"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// replicaMember is a member of a replica set. All of it is guarded by the set's mutex.
type replicaMember struct {
	set      *ReplicaSet
	index    int
	process  bson.ObjectID // of topologyVersion
	up       bool
	paused   bool
	lags     bool // does not copy entries
	term     int64
	primary  bool
	topology int64 // counter of topologyVersion

	log    []replicaEntry
	commit int // the length of the committed part of log, as far as this member knows
	// local is the fold of the log, committed that of its committed part.
	local, committed *replicaImage

	contact       []time.Time // the last message of each other member
	heardPrimary  time.Time
	electionDelay time.Duration // beyond the election timeout
	acknowledged  []int         // by member, of the primary: how much of the log it has

	transactions map[string]*openTransaction // by session
}

// progressReport is on its way from a member to the primary of a term.
type progressReport struct {
	from, to *replicaMember
	term     int64
	has      int
	due      time.Time
}

func newReplicaMember(s *ReplicaSet, index, members int) *replicaMember {
	now := time.Now()
	m := &replicaMember{
		set: s, index: index, process: bson.NewObjectID(), up: true, term: 1,
		local: newReplicaImage(), committed: newReplicaImage(),
		contact: make([]time.Time, members), acknowledged: make([]int, members),
		heardPrimary: now, transactions: map[string]*openTransaction{},
	}
	for i := range m.contact {
		m.contact[i] = now
	}
	return m
}

// step does what members do by themselves. s.mu is held.
func (s *ReplicaSet) step(now time.Time) {
	if now.Sub(s.lastBeat) >= s.Timing.Heartbeat {
		s.lastBeat = now
		s.exchangeHeartbeats(now)
	}
	s.replicate(now)
	for _, m := range s.members {
		switch {
		case !m.up || m.paused:
		case m.primary && s.reached(m, now) <= len(s.members)/2:
			// topology_coordinator.cpp, checkMemberTimeouts: a primary that cannot see a
			// majority for the election timeout steps down. Until then there may be two.
			m.stepDown()
			s.wake()
		case !m.primary && now.Sub(m.heardPrimary) > s.Timing.ElectionTimeout+m.electionDelay:
			// replication_coordinator_impl_heartbeat.cpp, _cancelAndRescheduleElectionTimeout: a random
			// offset of up to 15 % keeps members from standing at the same time.
			m.heardPrimary = now
			m.electionDelay = time.Duration(s.rng.Int64N(int64(s.Timing.ElectionTimeout)*15/100 + 1))
			s.standForElection(m, now)
		}
	}
}

// exchangeHeartbeats gives members that reach each other the latest term
// (topology_coordinator.cpp, updateTerm: a primary that learns of a later one steps down).
func (s *ReplicaSet) exchangeHeartbeats(now time.Time) {
	for _, a := range s.members {
		for _, b := range s.members {
			if a == b || !s.connected(a, b) {
				continue
			}
			a.contact[b.index] = now
			a.learnTerm(b.term)
			if b.primary && b.term == a.term {
				a.heardPrimary = now
			}
		}
	}
}

// reached counts the members whose messages have come lately, itself included.
func (s *ReplicaSet) reached(m *replicaMember, now time.Time) (n int) {
	for i, at := range m.contact {
		if i == m.index || now.Sub(at) <= s.Timing.ElectionTimeout {
			n++
		}
	}
	return n
}

func (m *replicaMember) learnTerm(term int64) {
	if term > m.term {
		m.stepDown()
		m.term = term
	}
}

// stepDown ends being primary: open transactions end with their locks, and all that wait
// for a write concern are answered (replication_coordinator_impl.cpp,
// AutoGetRstlForStepUpStepDown kills operations; the waiters get PrimarySteppedDown).
func (m *replicaMember) stepDown() {
	clear(m.transactions)
	if m.primary {
		m.primary = false
		m.topology++
		m.heardPrimary = time.Now()
		m.set.wake()
	}
}

// standForElection elects a member if a majority votes for it, and reports whether it was
// elected. A member votes for a candidate that it reaches, whose last entry is not older
// than its own (topology_coordinator.cpp, processReplSetRequestVotes: "candidate's data is
// staler than mine").
func (s *ReplicaSet) standForElection(m *replicaMember, now time.Time) bool {
	if !m.up || m.paused {
		return false
	}
	term := m.term
	var voters []*replicaMember
	for _, v := range s.members {
		if v.up && s.connected(v, m) && !v.isNewerThan(m) {
			voters = append(voters, v)
			term = max(term, v.term)
		}
	}
	if len(voters) <= len(s.members)/2 {
		return false
	}
	s.stats.Elections++
	for _, v := range voters {
		v.learnTerm(term + 1)
		v.heardPrimary = now
	}
	m.primary = true
	m.topology++
	clear(m.acknowledged)
	for _, v := range voters {
		m.contact[v.index] = now
	}
	s.reports = nil
	// replication_coordinator_impl.cpp, signalApplierDrainComplete: a new primary writes a
	// no-op of its term, and takes writes and reads before that is committed.
	s.appendEntry(m, replicaEntry{})
	return true
}

// isNewerThan reports whether a member's log ends later than another's.
func (m *replicaMember) isNewerThan(o *replicaMember) bool {
	a, b := m.lastTime(), o.lastTime()
	return a.T > b.T || a.T == b.T && a.I > b.I
}

// lastTime returns the time of the last entry: its term and place. Times of a server are
// of its clock; what matters is that they rise along each log and over the terms.
func (m *replicaMember) lastTime() bson.Timestamp { return m.timeAt(len(m.log)) }

func (m *replicaMember) timeAt(length int) bson.Timestamp {
	if length == 0 {
		return bson.Timestamp{}
	}
	return bson.Timestamp{T: uint32(m.log[length-1].term), I: uint32(length)}
}

// appendEntry appends an entry of a primary and executes it locally. s.mu is held.
func (s *ReplicaSet) appendEntry(m *replicaMember, e replicaEntry) {
	s.entries++
	e.id, e.term, e.made = s.entries, m.term, time.Now()
	m.log = append(m.log, e)
	m.local.apply(&e)
	if s.Timing.OneWay == 0 {
		s.replicate(time.Now())
	}
}

// replicate lets each member copy the entries that it lacks from the primary that it
// reaches, and the primary learn how far it is.
func (s *ReplicaSet) replicate(now time.Time) {
	for _, m := range s.members {
		source := s.syncSource(m)
		if m.primary || !m.up || m.lags || source == nil {
			continue
		}
		m.learnTerm(source.term)
		m.heardPrimary = now
		m.contact[source.index], source.contact[m.index] = now, now
		// A member learns the commit point with the entries, so it is behind the
		// primary's (oplog_fetcher.cpp: the metadata of an answer hold lastOpCommitted).
		known := source.commit
		m.pull(source)
		m.setCommit(min(known, len(m.log)))
		s.report(progressReport{m, source, source.term, len(m.log), now.Add(s.Timing.Acknowledge)})
	}
	s.deliverReports(now)
}

// report sends a report unless the same one is on its way.
func (s *ReplicaSet) report(r progressReport) {
	if !slices.ContainsFunc(s.reports, func(o progressReport) bool {
		return o.from == r.from && o.to == r.to && o.term == r.term && o.has == r.has
	}) {
		s.reports = append(s.reports, r)
	}
}

// syncSource returns the primary of the latest term that a member reaches, nil if that is
// not of its own term at least.
func (s *ReplicaSet) syncSource(m *replicaMember) (source *replicaMember) {
	for _, p := range s.members {
		if p.primary && p != m && s.connected(m, p) && p.term >= m.term && (source == nil || p.term > source.term) {
			source = p
		}
	}
	return source
}

// pull copies the entries that a member lacks. Where its log is not a part of the
// source's, it rolls back to where they agree (rollback_impl.cpp; rollback to the stable
// timestamp begins with the committed data).
func (m *replicaMember) pull(source *replicaMember) {
	same := min(len(m.log), len(source.log))
	if same > 0 && m.log[same-1].id != source.log[same-1].id {
		for same > 0 && m.log[same-1].id != source.log[same-1].id {
			same--
		}
	}
	if dropped := len(m.log) - same; dropped > 0 {
		m.set.stats.RolledBack += dropped
		m.set.stats.LostCommitted += max(0, m.commit-same)
		m.log = m.log[:same:same]
		m.local = m.committed.clone()
		for i := m.commit; i < same; i++ {
			m.local.apply(&m.log[i])
		}
	}
	for i := same; i < len(source.log); i++ {
		m.log = append(m.log, source.log[i])
		m.local.apply(&source.log[i])
	}
}

// deliverReports tells primaries how far members are, and moves their commit points.
func (s *ReplicaSet) deliverReports(now time.Time) {
	late := s.reports[:0]
	for _, r := range s.reports {
		switch {
		case now.Before(r.due):
			late = append(late, r)
		case r.to.primary && r.to.term == r.term && s.connected(r.from, r.to):
			r.to.acknowledged[r.from.index] = max(r.to.acknowledged[r.from.index], r.has)
		}
	}
	s.reports = late
	for _, p := range s.members {
		if p.primary && p.up && !p.paused {
			p.advanceCommit()
		}
	}
}

// advanceCommit moves the commit point of a primary to the last entry that a majority has,
// but only if that is of the primary's own term (replication_coordinator_impl.cpp:
// "_lastCommittedOpTime cannot be set to an earlier OpTime" than _firstOpTimeOfMyTerm, and
// topology_coordinator.cpp, updateLastCommittedOpTimeAndWallTime: "prevents entries from
// before our election from counting as committed in our view, until our election has been
// committed").
func (m *replicaMember) advanceCommit() {
	m.acknowledged[m.index] = len(m.log)
	for length := len(m.log); length > m.commit; length-- {
		have := 0
		for _, n := range m.acknowledged {
			if n >= length {
				have++
			}
		}
		if have > len(m.acknowledged)/2 {
			if m.log[length-1].term == m.term {
				m.setCommit(length)
			}
			return
		}
	}
}

// setCommit moves the commit point forward.
func (m *replicaMember) setCommit(length int) {
	if length <= m.commit {
		return
	}
	for ; m.commit < length; m.commit++ {
		m.committed.apply(&m.log[m.commit])
	}
	m.set.wake()
}

// late returns by how much a server is late to notice a time-out.
func (s *ReplicaSet) late() time.Duration {
	if s.Timing.Precision < 0 {
		return 0
	}
	return time.Duration(rand.Int64N(int64(s.Timing.Precision) + 1))
}
