package voting

import (
	"bytes"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// Command is something a caller asks of a poll: a change or a query.
type Command interface {
	// decide returns what the command does to the state at a time in Unix
	// milliseconds, or why it is refused. Queries do nothing.
	decide(s *State, at int64) (decision, error)
	// answer returns what the caller is told, from the state after the command.
	answer(s *State) Answer
	// append appends the encoding that decodeCommand reads.
	append(buf []byte) []byte
}

// Answer is what a command is answered with: the poll's standing after a vote and
// for those who ask, its configuration and how often it was reset for those who
// ask for that.
type Answer struct {
	tally  Tally
	config *Config // nil: none is saved
	resets uint64
}

type decision = stream.Decision[Entry, Answer]

func store(e Entry) (decision, error) { return decision{Entry: e, Store: true}, nil }

// vote submits times copies of value (section 4.1, POST /vote).
type vote struct {
	voter        Voter
	value, times int64
}

func (c vote) decide(s *State, at int64) (decision, error) {
	rules := s.rules()
	if !within(c.value, minValue, maxValue) {
		return decision{}, errValueOutOfBounds
	}
	if !within(c.times, 1, min(maxCount, rules.TotalVotesPerUser)) {
		return decision{}, errCountOutOfBounds
	}
	if !rules.open(at) {
		return decision{}, errPollClosed
	}
	id, ok := c.voter.identity(rules.UserIDVoting)
	if !ok || rules.multi() && !rules.allow(s.voters.get(id), c.value, c.times) {
		return decision{}, errUnacceptable
	}
	return store(voted{
		voter:   c.voter,
		byUser:  rules.UserIDVoting,
		replace: !rules.multi(),
		value:   int16(c.value),
		times:   uint16(c.times),
	})
}

// allow reports whether a voter with the given ballot may add times votes for
// value in multi-vote mode.
func (c Config) allow(b ballot, value, times int64) bool {
	var total, same, distinct int64
	for _, o := range b.options {
		total += int64(o.times)
		distinct++
		if int64(o.value) == value {
			same = int64(o.times)
		}
	}
	if same == 0 {
		distinct++
	}
	return total+times <= c.TotalVotesPerUser &&
		same+times <= c.VotesPerOption &&
		distinct <= c.DistinctOptionsPerUser
}

func (c vote) answer(s *State) Answer {
	return Answer{tally: Tally{Statistics: s.Statistics(), Vote: &c.value}}
}

// configure saves a configuration for the poll with the given id (section 4.1,
// POST /vote_config).
type configure struct {
	id     string
	config Config
}

func (c configure) decide(s *State, at int64) (decision, error) {
	config, err := c.config.compact()
	if err != nil {
		return decision{}, err
	}
	if config.EndsAt < 0 {
		config.EndsAt = at / 1000
	}
	if err := config.check(c.id); err != nil {
		return decision{}, err
	}
	if s.config != nil && bytes.Equal(s.config.encode(), config.encode()) {
		return decision{}, nil
	}
	return store(configured{config})
}

func (configure) answer(*State) Answer { return Answer{} }

// modify adds to the modifiers of an identifier (section 4.1, POST
// /vote_modifier).
type modify struct {
	user string
	add  int64
}

// maxModifier bounds the sum of an identifier's modifiers: the largest integer
// that every JSON reader keeps exact.
const maxModifier = 1 << 53

func (c modify) decide(s *State, _ int64) (decision, error) {
	total := s.modifiers.get(c.user) + c.add // if it wraps around, to far out of bounds
	if c.user == "" || len(c.user) > maxIdentity || !within(total, -maxModifier, maxModifier) {
		return decision{}, errInvalidBody
	}
	return store(modified(c))
}

func (modify) answer(*State) Answer { return Answer{} }

// remove deletes the vote state and the configuration (section 4.1, DELETE
// /vote). Where there is nothing it does nothing.
type remove struct{}

func (remove) decide(s *State, _ int64) (decision, error) {
	if !s.used {
		return decision{}, nil
	}
	return store(reset{})
}

func (remove) answer(*State) Answer { return Answer{} }

// standing asks for the statistics and the voter's latest vote.
type standing struct{ voter Voter }

func (standing) decide(*State, int64) (decision, error) { return decision{}, nil }

func (q standing) answer(s *State) Answer {
	return Answer{tally: Tally{Statistics: s.Statistics(), Vote: s.known(q.voter)}}
}

// settings asks for the configuration.
type settings struct{}

func (settings) decide(*State, int64) (decision, error) { return decision{}, nil }
func (settings) answer(s *State) Answer                 { return Answer{config: s.config} }

// overview asks for all that a poll's audience is told of.
type overview struct{}

func (overview) decide(*State, int64) (decision, error) { return decision{}, nil }

func (overview) answer(s *State) Answer {
	return Answer{tally: Tally{Statistics: s.Statistics()}, config: s.config, resets: s.resets}
}
