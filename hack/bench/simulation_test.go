package main

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"
)

// Three programs with cores of their own do at least twice the votes of one in 1,000 polls.
// The inputs are those of services/docs/internals/capacity.md, measured, which has the results, too.
// The request is that of BenchmarkRequest in package peer, with that of the engines.
func TestProgramsOnCoresOfTheirOwn(t *testing.T) {
	const us = time.Microsecond
	measured := voteCosts{
		Answer: 85 * us, Decide: 20 * us, Forward: 8 * us, Receive: 8 * us, Request: 20 * us,
		Insert: 100 * us, Chunk: 18 * us, Stored: 5 * time.Millisecond, Network: 200 * us,
	}
	twice := measured
	twice.Forward, twice.Receive, twice.Request, twice.Insert = 2*measured.Forward, 2*measured.Receive, 2*measured.Request, 2*measured.Insert
	for name, costs := range map[string]voteCosts{"measured": measured, "all that grows with programs twice": twice} {
		const cores, connections = 2, 256
		one := simulateVotes(1, cores, connections, costs, 3*time.Second)
		three := simulateVotes(3, cores, connections, costs, 3*time.Second)
		t.Logf("%s: %.0f and %.0f votes/s, %.2f", name, one, three, three/one)
		if three < 2*one {
			t.Errorf("%s: three programs do %.2f times the votes of one, want 2", name, three/one)
		}
	}
}

// voteCosts are the inputs of the simulation: processor time of one program, and waits
// that cost none.
type voteCosts struct {
	Answer  time.Duration // the HTTP request of a vote, its credential, its answer
	Decide  time.Duration // a vote, by the worker of its poll
	Forward time.Duration // a vote, by the program that passes it on
	Receive time.Duration // a vote that was forwarded, by the owner of its poll
	Request time.Duration // a request between programs, at each end
	Insert  time.Duration // an insert
	Chunk   time.Duration // a chunk in an insert
	Stored  time.Duration // wait until a majority has an insert
	Network time.Duration // wait, one way between programs
}

// The pace of requests and inserts is that of packages stream and mongostore: the next one
// begins when a part of the time has passed that one takes.
const (
	requestParts = 2
	insertParts  = 3
	chunksAtOnce = 100
)

// simulateVotes returns the votes a second of programs with cores of their own over a
// database that keeps up. Connections to each program vote in 1,000 polls, spread evenly,
// and vote again when they have their answer. Work waits in one queue in each program.
func simulateVotes(programs, cores, connections int, costs voteCosts, length time.Duration) float64 {
	s := &voteSimulation{costs: costs, rng: rand.New(rand.NewPCG(1, 2))}
	for range programs {
		p := &simulatedProgram{sim: s, free: cores, inserts: pacedQueue{parts: insertParts, most: chunksAtOnce}}
		p.requests = make([]pacedQueue, programs)
		for i := range p.requests {
			p.requests[i] = pacedQueue{parts: requestParts, most: 512}
		}
		s.programs = append(s.programs, p)
	}
	for _, p := range s.programs {
		for range connections {
			p.vote()
		}
	}
	warm, atWarm := length/4, 0
	for len(s.events) > 0 && s.now < length {
		e := heap.Pop(&s.events).(simulatedEvent)
		if s.now < warm && e.at >= warm {
			atWarm = s.answered
		}
		s.now = e.at
		e.do()
	}
	return float64(s.answered-atWarm) / (length - warm).Seconds()
}

type voteSimulation struct {
	costs    voteCosts
	rng      *rand.Rand
	now      time.Duration
	events   eventQueue
	number   int
	programs []*simulatedProgram
	answered int
}

// after runs do when a time has passed.
func (s *voteSimulation) after(d time.Duration, do func()) {
	s.number++
	heap.Push(&s.events, simulatedEvent{s.now + d, s.number, do})
}

// simulatedProgram has cores, work that waits for one, and the queues of package stream
// and mongostore.
type simulatedProgram struct {
	sim      *voteSimulation
	free     int // cores
	waiting  []simulatedWork
	inserts  pacedQueue
	requests []pacedQueue // to each program
}

type simulatedWork struct {
	cost time.Duration
	then func()
}

// work takes processor time, then goes on.
func (p *simulatedProgram) work(cost time.Duration, then func()) {
	p.waiting = append(p.waiting, simulatedWork{cost, then})
	p.schedule()
}

func (p *simulatedProgram) schedule() {
	for p.free > 0 && len(p.waiting) > 0 {
		w := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.free--
		p.sim.after(w.cost, func() {
			p.free++
			w.then()
			p.schedule()
		})
	}
}

// vote is one of a connection, which votes again after it.
func (p *simulatedProgram) vote() {
	s := p.sim
	answered := func() { s.answered++; p.vote() }
	p.work(s.costs.Answer, func() {
		owner := s.rng.IntN(len(s.programs))
		if s.programs[owner] == p {
			p.work(s.costs.Decide, func() { p.insert(answered) })
			return
		}
		p.requests[owner].push(s, answered, func(votes []func(), ended func()) { p.forward(s.programs[owner], votes, ended) })
	})
}

// insert stores a chunk with those that wait, then goes on.
func (p *simulatedProgram) insert(then func()) {
	c := p.sim.costs
	p.inserts.push(p.sim, then, func(chunks []func(), ended func()) {
		p.work(c.Insert+time.Duration(len(chunks))*c.Chunk, func() {
			p.sim.after(c.Stored, func() {
				ended()
				for _, stored := range chunks {
					stored()
				}
			})
		})
	})
}

// forward passes votes on to the owner of their polls, in one request.
func (p *simulatedProgram) forward(owner *simulatedProgram, votes []func(), ended func()) {
	s, c := p.sim, p.sim.costs
	perVote := func(cost time.Duration) time.Duration { return time.Duration(len(votes)) * cost }
	stored := 0
	finish := func() {
		if stored++; stored == len(votes) {
			s.after(c.Network, func() {
				ended()
				for _, answered := range votes {
					answered()
				}
			})
		}
	}
	p.work(c.Request+perVote(c.Forward), func() {
		s.after(c.Network, func() {
			owner.work(c.Request+perVote(c.Receive+c.Decide), func() {
				for range votes {
					owner.insert(finish)
				}
			})
		})
	})
}

// pacedQueue gathers what waits for the next batch, like batch.Pace.
type pacedQueue struct {
	parts, most, running int
	waiting              []func()
	took, began          time.Duration
	later                bool
}

// push adds to the next batch, which run begins; ended ends it.
func (q *pacedQueue) push(s *voteSimulation, then func(), run func(batch []func(), ended func())) {
	q.waiting = append(q.waiting, then)
	q.begin(s, run)
}

func (q *pacedQueue) begin(s *voteSimulation, run func(batch []func(), ended func())) {
	if len(q.waiting) == 0 {
		return
	}
	if wait := cmp.Or(q.took, 10*time.Millisecond)/time.Duration(q.parts) - (s.now - q.began); q.running > 0 && wait > 0 {
		if !q.later {
			q.later = true
			s.after(wait, func() { q.later = false; q.begin(s, run) })
		}
		return
	}
	n := min(q.most, len(q.waiting))
	batch, began := q.waiting[:n:n], s.now
	q.waiting, q.began, q.running = q.waiting[n:], began, q.running+1
	run(batch, func() {
		q.running--
		q.took = s.now - began
		q.begin(s, run)
	})
}

type simulatedEvent struct {
	at     time.Duration
	number int // those of one time keep their order
	do     func()
}

type eventQueue []simulatedEvent

func (q eventQueue) Len() int      { return len(q) }
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q eventQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].number < q[j].number
}
func (q *eventQueue) Push(e any) { *q = append(*q, e.(simulatedEvent)) }
func (q *eventQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
