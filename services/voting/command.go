package voting

import (
	"bytes"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// Command is a change or a query that a caller submits to a poll.
type Command interface {
	// decideAt returns what the command does to the state at a time in Unix
	// milliseconds, or the error that refuses it. Queries do nothing.
	decideAt(s *State, at int64) (pollDecision, error)
	// answerFrom returns the result for the caller, from the state after the command.
	answerFrom(s *State) Answer
	// appendTo appends the encoding that decodeCommand reads.
	appendTo(buf []byte) []byte
}

// Answer is the result of a command: the poll's statistics after a vote or a query for
// them, with the configuration if that may hide them; its configuration and the number
// of its resets after the queries for these.
type Answer struct {
	tally  Tally
	config *Config // nil: none is saved
	resets uint64
	// version names the configuration after a change, or under which a voter has voted; nil
	// where it is not known.
	version *int64
	// listed is the place of a vote in the list of a poll that has one; list the answer to a listQuery.
	listed *Listed
	list   *listAnswer
	// devices holds the number of devices that have voted, after a standingQuery that asks for it.
	devices int
	// decided has the time of the decision of a concludeCommand in Unix milliseconds, 0 after others.
	decided int64
}

type pollDecision = stream.Decision[Entry, Answer]

func storeEntry(e Entry) (pollDecision, error) { return pollDecision{Entry: e, Store: true}, nil }

// voteCommand submits times copies of value (section 4.1, POST /vote), which may be NoValue.
type voteCommand struct {
	voter        Voter
	value, times int64
	existing     bool // only into a poll that exists
	// version names the configuration that the voter saw, 0 where the client does not tell.
	version int64
	byStaff bool
	nonce   *verifiable.NonceHash // nil for none

	// entry holds the one of the last decision. It is here because a command of its own would cost
	// each of a thousand votes an allocation.
	entry voteEntry
}

func (c *voteCommand) decideAt(s *State, at int64) (pollDecision, error) {
	rules, value := s.currentConfig(), ValueOrZero(c.value)
	if err := c.check(s, &rules, at); err != nil {
		return pollDecision{}, err
	}
	id, ok := c.voter.identityIn(rules.UserIDVoting)
	if !ok || rules.isMultiVote() && !rules.allowsVote(s.voters.get(id), value, c.times) {
		return pollDecision{}, errUnacceptable
	}
	if c.existing && !s.exists() {
		return pollDecision{}, errNoPoll
	}
	c.entry = voteEntry{
		voter:   c.voter,
		byUser:  rules.UserIDVoting,
		replace: !rules.isMultiVote(),
		value:   int16(value),
		times:   uint16(c.times),
	}
	if s.list.isRunning() {
		return c.listVote(s, id)
	}
	return storeEntry(&c.entry)
}

// check returns why the vote is refused, by any voter, or nil.
func (c *voteCommand) check(s *State, rules *Config, at int64) error {
	switch {
	case !isWithin(ValueOrZero(c.value), contract.MinValue, contract.MaxValue):
		return errValueOutOfBounds
	case !isWithin(c.times, 1, min(contract.MaxCount, rules.TotalVotesPerUser)):
		return errCountOutOfBounds
	case !rules.isOpen(at) || s.list.isClosed():
		return errPollClosed
	case c.version != 0 && c.version != rules.Version:
		return errConfigChanged
	case c.nonce != nil && rules.NoReceipts:
		return errNoNonce // a voter could prove to others which entry is the own one
	}
	if err := rules.checkOption(c.value); err != nil {
		return err
	}
	if rules.LoggedInOnly && !c.voter.isLoggedIn() {
		return errLoggedOut
	}
	return nil
}

// listVote lists the vote that was decided.
func (c *voteCommand) listVote(s *State, id string) (pollDecision, error) {
	if s.list.next >= maxEntries {
		return pollDecision{}, errListFull
	}
	number := s.nextNumberOf(id)
	made := &struct { // one allocation for both
		vote listedVote
		at   Listed
	}{
		listedVote{place: s.list.place(), voter: number, byStaff: c.byStaff, nonce: c.nonce},
		Listed{Tree: s.list.tree, Index: s.list.next, Voter: number},
	}
	c.entry.listed = &made.vote
	if s.currentConfig().NoReceipts {
		made.at = Listed{Tree: s.list.tree} // the voter does not get to know the own entry
	}
	return pollDecision{Entry: &c.entry, Store: true, Result: Answer{listed: &made.at}}, nil
}

// allowsVote reports whether a voter with the given ballot may add times votes for
// value in multi-vote mode.
func (c *Config) allowsVote(b ballot, value, times int64) bool {
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

func (c *voteCommand) answerFrom(s *State) Answer {
	value := ValueOrZero(c.value)
	return Answer{tally: Tally{Statistics: s.Statistics(), Vote: &value}, config: s.hidingConfig()}
}

// configureCommand saves a configuration for the poll with the given id (section 4.1,
// POST /vote_config).
type configureCommand struct {
	id        string
	config    Config
	keepVotes bool // also under another question
	seed      *listSeed
}

func (c configureCommand) decideAt(s *State, at int64) (pollDecision, error) {
	config := c.config
	if err := config.compactUserData(); err != nil {
		return pollDecision{}, err
	}
	config.ResolveEnd(at)
	if config.ResultsVisibility == VisibleAlways {
		config.ResultsVisibility = ""
	}
	if config.Entries == contract.EntriesAfterClose {
		config.Entries = ""
	}
	if err := config.checkLimits(c.id); err != nil {
		return pollDecision{}, err
	}
	if err := s.checkQuestion(&config, c.keepVotes); err != nil {
		return pollDecision{}, err
	}
	if err := s.settleTieBreak(&config, at); err != nil {
		return pollDecision{}, err
	}
	config.Version, config.QuestionChanged = max(at, s.deleted+1), 0
	if s.config != nil {
		config.Version, config.QuestionChanged = s.config.Version, s.config.QuestionChanged
		if bytes.Equal(s.config.encodeJSON(), config.encodeJSON()) {
			return pollDecision{}, nil
		}
		config.Version = max(at, s.config.Version+1)
		if checkSameQuestion(s.config, &config) != nil {
			config.QuestionChanged = config.Version
		}
	}
	entry, err := s.listConfig(config, c.seed, at)
	return pollDecision{Entry: entry, Store: err == nil}, err
}

func (configureCommand) answerFrom(*State) Answer { return Answer{} }

// modifyCommand adds to the modifiers of an identifier (section 4.1, POST
// /vote_modifier).
type modifyCommand struct {
	user string
	add  int64
}

func (c modifyCommand) decideAt(s *State, _ int64) (pollDecision, error) {
	return s.decideModifier(modifierEntry(c), true)
}

// decideModifier adds to the modifiers of an identifier.
func (s *State) decideModifier(m modifierEntry, byStaff bool) (pollDecision, error) {
	total := s.modifiers.get(m.user) + m.add // if it wraps around, to far out of bounds
	if m.user == "" || len(m.user) > contract.MaxVoter || !isWithin(total, -contract.MaxModifier, contract.MaxModifier) {
		return pollDecision{}, errInvalidBody
	}
	if s.list.isClosed() || s.currentConfig().TieBreak != nil {
		return pollDecision{}, errPollClosed
	}
	if !s.list.isRunning() {
		return storeEntry(m)
	}
	if s.list.next >= maxEntries {
		return pollDecision{}, errListFull
	}
	return storeEntry(&listedModifier{m, listedVote{place: s.list.place(), voter: s.nextNumberOf(m.user), byStaff: byStaff}})
}

func (modifyCommand) answerFrom(*State) Answer { return Answer{} }

// resetCommand deletes the vote state and the configuration (section 4.1, DELETE
// /vote). Where there is nothing it does nothing.
type resetCommand struct{}

func (resetCommand) decideAt(s *State, _ int64) (pollDecision, error) { return s.decideReset(nil) }

// decideReset deletes the votes and the configuration. cleared is the one that is saved again.
func (s *State) decideReset(cleared *Config) (pollDecision, error) {
	if !s.used {
		return pollDecision{}, nil
	}
	if s.list.isRunning() {
		return storeEntry(listedEvent{kind: kindListedReset, place: s.list.place(), cleared: cleared})
	}
	return storeEntry(resetEntry{cleared})
}

func (resetCommand) answerFrom(*State) Answer { return Answer{} }

// standingQuery asks for the statistics and the voter's latest vote.
type standingQuery struct {
	voter   Voter
	devices bool // also for how many devices have voted, of stream.LevelDevices
}

func (standingQuery) decideAt(*State, int64) (pollDecision, error) { return pollDecision{}, nil }

func (q standingQuery) answerFrom(s *State) Answer {
	a := Answer{tally: Tally{Statistics: s.Statistics(), Vote: s.latestVote(q.voter)}, config: s.hidingConfig()}
	if q.devices && s.config != nil && s.config.DeviceVoting {
		a.devices = s.countDevices()
	}
	return a
}

// configQuery asks for the configuration.
type configQuery struct{}

func (configQuery) decideAt(*State, int64) (pollDecision, error) { return pollDecision{}, nil }
func (configQuery) answerFrom(s *State) Answer                   { return Answer{config: s.config} }

// overviewQuery asks for all that subscribers of a poll see.
type overviewQuery struct{}

func (overviewQuery) decideAt(*State, int64) (pollDecision, error) { return pollDecision{}, nil }

func (overviewQuery) answerFrom(s *State) Answer {
	return Answer{tally: Tally{Statistics: s.Statistics()}, config: s.config, resets: s.resets}
}
