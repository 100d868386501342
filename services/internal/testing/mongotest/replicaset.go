package mongotest

import (
	"context"
	random "crypto/rand"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// ReplicaSet is a model of a MongoDB replica set: members in this process, each behind a
// listener that speaks the wire protocol to the real driver. It has what a server on its
// own lacks and what decides whether a program is right: terms and elections, replication
// by pulling, a commit point behind the stored data, rollback, write concern errors,
// retryable writes, transactions, linearizable reads and change streams of what is
// committed.
//
// It is worth what its rules are worth. A rule names its source: a file and function of
// the server (mongodb/mongo, whose versions name and place them differently), the manual or
// a specification of the drivers. It keeps
// everything in memory, executes the commands that package mongostore sends and refuses
// all others.
type ReplicaSet struct {
	Timing ReplicaTiming

	t testing.TB
	// name is no other set's: the port of a member that is down may get another set's member,
	// which a driver then leaves alone.
	name    string
	open    ListenFunc
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	rng      *rand.Rand
	members  []*replicaMember
	cut      map[[2]int]bool // pairs of members without a connection
	changed  chan struct{}   // closed by the next change
	reports  []progressReport
	entries  uint64 // made so far
	lastBeat time.Time
	clients  []*ReplicaClient
	stats    ReplicaStats
	streams  []*changeCursor
	// ignoresLinearizable is set by IgnoreLinearizable.
	ignoresLinearizable bool
	// refusesStreams is set by RefuseChangeStreams.
	refusesStreams bool
}

// ReplicaTiming holds the times of a replica set. Zero values are those of TestTiming.
type ReplicaTiming struct {
	// Heartbeat is the time between heartbeats, ElectionTimeout the time without a primary
	// after which a member stands for election, or without a majority after which a
	// primary steps down.
	Heartbeat, ElectionTimeout time.Duration
	// OneWay is the time that an entry takes from the primary to a member; 0: none, and
	// the acknowledgement takes none either unless Acknowledge says so.
	OneWay time.Duration
	// Acknowledge is the time until the primary knows how far a member is.
	Acknowledge time.Duration
	// Precision is by how much, at most, a server is late to notice that maxTimeMS has
	// passed: 10 ms (operation_context.cpp, setDeadlineAfterNowBy adds the
	// precision of its clock). A negative value is none: a server on time.
	Precision time.Duration
	// Seed seeds the random parts of times; 1 when 0.
	Seed uint64
}

// ReplicaStats counts what a replica set did.
type ReplicaStats struct {
	Commands  map[string]int
	Elections int
	// RolledBack counts entries. LostCommitted counts those among them that were
	// committed, which must never happen: the model would be wrong.
	RolledBack, LostCommitted int
	// ConcernErrors counts write concern errors by code, DuplicatesUnconfirmed the answers
	// with a duplicate key and a write concern error.
	ConcernErrors         map[int32]int
	DuplicatesUnconfirmed int
}

// StartReplicaSet starts a replica set, which ends with the test. Member 0 is primary in
// term 1.
func StartReplicaSet(t testing.TB, members int, timing ReplicaTiming) *ReplicaSet {
	t.Helper()
	return StartReplicaSetOn(t, members, timing, func(ctx context.Context, _ int) (net.Listener, error) {
		return (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	})
}

// ListenFunc opens a listener of a member, at a port that nothing else uses.
type ListenFunc func(ctx context.Context, member int) (net.Listener, error)

// StartReplicaSetOn is StartReplicaSet over another network than the machine's.
func StartReplicaSetOn(t testing.TB, members int, timing ReplicaTiming, listen ListenFunc) *ReplicaSet {
	t.Helper()
	if timing.Heartbeat == 0 {
		timing.Heartbeat = 100 * time.Millisecond
	}
	if timing.ElectionTimeout == 0 {
		timing.ElectionTimeout = time.Hour // a test says when
	}
	if timing.Seed == 0 {
		timing.Seed = 1
	}
	if timing.Precision == 0 {
		timing.Precision = 10 * time.Millisecond
	}
	s := &ReplicaSet{
		Timing: timing, t: t, name: "rs-" + random.Text(), open: listen, rng: rand.New(rand.NewPCG(timing.Seed, uint64(members))),
		cut: map[[2]int]bool{}, changed: make(chan struct{}),
		stats: ReplicaStats{Commands: map[string]int{}, ConcernErrors: map[int32]int{}},
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(t.Context()))
	for i := range members {
		s.members = append(s.members, newReplicaMember(s, i, members))
	}
	s.members[0].term, s.members[0].primary = 1, true
	s.appendEntry(s.members[0], replicaEntry{})
	s.clients = []*ReplicaClient{s.listen(nil)}
	s.running.Go(s.run)
	t.Cleanup(s.close)
	return s
}

// URI returns the URI of an empty database.
func (s *ReplicaSet) URI() string { return s.clients[0].URI() }

func (s *ReplicaSet) close() {
	s.cancel()
	s.mu.Lock()
	for _, c := range s.clients {
		for _, e := range c.endpoints {
			_ = e.listener.Close()
			e.breakConnections()
		}
	}
	s.wake()
	lost := s.stats.LostCommitted
	s.mu.Unlock()
	s.running.Wait()
	if lost > 0 {
		s.t.Errorf("the model of a replica set is wrong: %d committed entries were rolled back", lost)
	}
}

// run lets time pass: all that members do by themselves happens in steps of OneWay.
func (s *ReplicaSet) run() {
	ticker := time.NewTicker(max(s.Timing.OneWay, min(s.Timing.Heartbeat/4, 5*time.Millisecond)))
	if s.Timing.OneWay > 0 {
		ticker.Reset(s.Timing.OneWay)
	}
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
			s.mu.Lock()
			s.step(time.Now())
			s.mu.Unlock()
		}
	}
}

// wake wakes all that wait for a change. s.mu is held.
func (s *ReplicaSet) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// awaitChange waits for the next change, at most until a deadline, and reports whether
// there may have been one. s.mu is held, and released meanwhile.
func (s *ReplicaSet) awaitChange(deadline time.Time) bool {
	changed := s.changed
	s.mu.Unlock()
	defer s.mu.Lock()
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-changed:
		return true
	case <-timer.C:
		return false
	case <-s.ctx.Done():
		return false
	}
}

// connected reports whether two members reach each other. s.mu is held.
func (s *ReplicaSet) connected(a, b *replicaMember) bool {
	return a == b || a.up && b.up && !a.paused && !b.paused && !s.cut[[2]int{min(a.index, b.index), max(a.index, b.index)}]
}

// Stats returns what happened so far.
func (s *ReplicaSet) Stats() ReplicaStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Commands, stats.ConcernErrors = maps.Clone(stats.Commands), maps.Clone(stats.ConcernErrors)
	return stats
}

// Await waits until what has happened meets a condition.
func (s *ReplicaSet) Await(condition func(ReplicaStats) bool) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for deadline := time.Now().Add(time.Minute); !condition(s.stats); {
		if !s.awaitChange(deadline) {
			s.t.Fatalf("it did not happen: %+v", s.stats)
		}
	}
}

// String describes all members.
func (s *ReplicaSet) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all strings.Builder
	for _, m := range s.members {
		fmt.Fprintf(&all, "member %d: up %t, primary %t, term %d, %d entries, %d committed\n", m.index, m.up, m.primary, m.term, len(m.log), m.commit)
	}
	return all.String()
}

// change applies a fault, or its end, to a member, and wakes all that wait.
func (s *ReplicaSet) change(member int, do func(m *replicaMember)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.members[member])
	s.wake()
}

// Primary returns the primary of the latest term, -1 for none.
func (s *ReplicaSet) Primary() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	index, term := -1, int64(-1)
	for _, m := range s.members {
		if m.up && m.primary && m.term > term {
			index, term = m.index, m.term
		}
	}
	return index
}

// Kill ends a member as kill -9 does: its connections break, its log stays.
func (s *ReplicaSet) Kill(member int) {
	s.change(member, func(m *replicaMember) {
		m.up = false
		m.stepDown()
		for _, c := range s.clients {
			c.endpoints[member].breakConnections()
		}
	})
}

// Restart starts a killed member.
func (s *ReplicaSet) Restart(member int) {
	s.change(member, func(m *replicaMember) {
		m.up, m.heardPrimary = true, time.Now()
	})
}

// Pause stops a member, or lets it go on, like SIGSTOP and SIGCONT: clients and members
// that talk to it wait.
func (s *ReplicaSet) Pause(member int, on bool) {
	s.change(member, func(m *replicaMember) { m.paused = on })
}

// Isolate cuts a member off from the other members, not from clients, or ends that.
func (s *ReplicaSet) Isolate(member int, on bool) {
	s.change(member, func(m *replicaMember) {
		for _, o := range s.members {
			if o != m {
				s.cut[[2]int{min(m.index, o.index), max(m.index, o.index)}] = on
			}
		}
	})
}

// StopReplication stops a member from copying entries, or ends that: a member that lags.
// It votes, and the primary keeps its majority: so does an arbiter.
func (s *ReplicaSet) StopReplication(member int, on bool) {
	s.change(member, func(m *replicaMember) { m.lags = on })
}

// SetAcknowledge changes how long acknowledgements take. Those under way are lost.
func (s *ReplicaSet) SetAcknowledge(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Timing.Acknowledge, s.reports = d, nil
}

// IgnoreLinearizable makes linearizable reads those of the concern majority, which tell no
// time: a server of another make that accepts the concern and ignores it, as FerretDB does.
// Reads then miss what was acknowledged before an election, or what a majority has while
// the primary does not know; nothing else may be wrong.
func (s *ReplicaSet) IgnoreLinearizable() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ignoresLinearizable = true
}

// RefuseChangeStreams makes members open no change stream, as for a user without that right.
func (s *ReplicaSet) RefuseChangeStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusesStreams = true
}

// Resign makes the primary step down, with no successor until one is elected.
func (s *ReplicaSet) Resign() {
	if p := s.Primary(); p >= 0 {
		s.change(p, func(m *replicaMember) { m.stepDown() })
	}
}

// Elect lets a member stand for election, and reports whether it was elected.
func (s *ReplicaSet) Elect(member int) (elected bool) {
	s.change(member, func(m *replicaMember) { elected = s.standForElection(m, time.Now()) })
	return elected
}

// StepDown makes the primary step down and elects another member at once, as
// replSetStepDown does after the others have caught up.
func (s *ReplicaSet) StepDown() {
	s.mu.Lock()
	s.replicate(time.Now())
	s.mu.Unlock()
	p := s.Primary()
	s.Resign()
	for i := range s.members {
		if i != p && s.Elect(i) {
			return
		}
	}
}

// Heal ends all faults but those of clients.
func (s *ReplicaSet) Heal() {
	for i := range s.members {
		s.Isolate(i, false)
		s.Pause(i, false)
		s.StopReplication(i, false)
		s.mu.Lock()
		up := s.members[i].up
		s.mu.Unlock()
		if !up {
			s.Restart(i)
		}
	}
}
