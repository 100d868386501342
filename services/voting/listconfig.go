package voting

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// listSeed has what a list needs that no rule can decide: random numbers, and the poll's name.
type listSeed struct {
	Tree verifiable.TreeID  `json:"tree"`
	Poll verifiable.PollKey `json:"poll"`
	Salt verifiable.SaltKey `json:"salt"`
}

func newSeed(p Poll) *listSeed {
	seed := &listSeed{Poll: p.PublicName().Key()}
	_, _ = rand.Read(seed.Tree[:]) // it never fails
	_, _ = rand.Read(seed.Salt[:])
	return seed
}

// PublicName returns the name by which files and receipts call the poll.
func (p Poll) PublicName() verifiable.PollName {
	name := verifiable.PollName{Client: p.Extension, Channel: p.Channel, Poll: p.ID}
	if p.Global() {
		name.Channel = ""
	}
	return name
}

// Refusals of configurations of polls with a list.
var (
	errListFixed    = fault.New(fault.Conflict, "The poll has votes: verifiable and userIDVoting change only after they are deleted")
	errRulesFixed   = fault.New(fault.Conflict, "The poll has votes: entries, minVoters, keepDays and noReceipts change only after they are deleted")
	errListRules    = fault.New(fault.Invalid, "entries, minVoters, keepDays and noReceipts need verifiable")
	errListLive     = fault.New(fault.Invalid, "entries must not be live in a poll that hides its results")
	errListStaff    = fault.New(fault.Invalid, "a verifiable poll must not hide its results from viewers for good")
	errListCount    = fault.New(fault.Invalid, "a verifiable poll that hides its results must have showCount")
	errListTooLarge = fault.New(fault.Invalid, "prompt and options of a verifiable poll are too long")
	errListSeed     = fault.New(fault.Invalid, "verifiable polls need production, a key for the log of results, and all processes of one release")
)

// listedEnvironment is the one whose polls may list their votes: in the sandbox anyone makes voters.
const listedEnvironment = "production"

// listConfig returns the entry that saves a configuration, with what it means for the list.
func (s *State) listConfig(config Config, seed *listSeed, at int64) (Entry, error) {
	running := s.list.isRunning()
	if !config.Verifiable && !running {
		return configEntry{config}, nil
	}
	if s.hasVotes() {
		if err := s.checkPromises(&config); err != nil {
			return nil, err
		}
	}
	switch {
	case !config.Verifiable:
		return &listedConfig{config: config, place: s.list.place(), ends: true}, nil
	case seed == nil:
		return nil, errListSeed
	case running:
		return s.continueList(config, seed, at), nil
	}
	return s.newList(config, seed, at), nil
}

// checkPromises refuses to change what the voters of a poll were promised.
func (s *State) checkPromises(config *Config) error {
	now, running := s.currentConfig(), s.list.isRunning()
	switch {
	case config.Verifiable != running || config.UserIDVoting != now.UserIDVoting:
		return errListFixed
	case running && config.listRules() != now.listRules():
		return errRulesFixed
	}
	return nil
}

func (s *State) hasVotes() bool { return !s.voters.isEmpty() || s.modifiers.isUsed() }

// newList returns the entry that saves a configuration and begins a list.
func (s *State) newList(config Config, seed *listSeed, at int64) *listedConfig {
	entry := &listedConfig{config: config, begin: &listBegin{tree: seed.Tree, poll: seed.Poll}}
	if !s.voters.isFork() {
		entry.place = &listPlace{ordinal: s.nextOrdinal()}
	}
	if config.hidesAt(at) {
		entry.hides = &seed.Salt
	}
	return entry
}

// hidesAt reports whether the list of a poll that is not closed hides its entries at a time.
func (c *Config) hidesAt(at int64) bool { return c.ResultsVisibility != "" && !c.closesBy(at) }

// continueList returns the entry that saves a configuration in a list that is running.
func (s *State) continueList(config Config, seed *listSeed, at int64) *listedConfig {
	closed, hidden := s.list.isClosed(), s.list.key != nil
	entry := &listedConfig{config: config, place: s.list.place(), opens: closed && !config.closesBy(at)}
	hides := config.hidesAt(at) && (entry.opens || !closed)
	if hides && !hidden {
		entry.hides = &seed.Salt
	}
	entry.reveals = hidden && !hides
	return entry
}

func (s *State) nextOrdinal() uint64 {
	if s.list == nil {
		return 0
	}
	return s.list.ordinal + 1
}

// checkListed returns why a configuration may not be one of a poll with a list, or nil.
func (c *Config) checkListed() error {
	switch {
	case !c.Verifiable && c.listRules() != (&Config{}).listRules():
		return errListRules
	case !c.Verifiable:
		return nil
	case c.ResultsVisibility == VisibleToStaff:
		return errListStaff
	case c.ResultsVisibility != "" && !c.ShowCount:
		return errListCount
	case c.ResultsVisibility != "" && c.Entries == contract.EntriesLive:
		return errListLive
	}
	public := c.public()
	if _, err := public.Encode(); err != nil {
		return errListTooLarge
	}
	return nil
}

// ListRules decide what becomes public of a list, and for how long. Voters rely on them: they
// change only while a poll has no votes.
type ListRules struct {
	Entries    string // contract.EntriesAfterClose or another
	MinVoters  int    // below that number entries stay secret
	Keep       time.Duration
	NoReceipts bool
}

// listRules returns the rules of a poll's list with their defaults.
func (c *Config) listRules() ListRules {
	return ListRules{
		Entries: cmp.Or(c.Entries, contract.EntriesAfterClose), MinVoters: int(cmp.Or(c.MinVoters, contract.DefaultMinVoters)),
		Keep: time.Duration(cmp.Or(c.KeepDays, contract.DefaultKeepDays)) * 24 * time.Hour, NoReceipts: c.NoReceipts,
	}
}

// savedConfig returns the configuration that an entry saves.
func savedConfig(e Entry) *Config {
	switch e := e.(type) {
	case configEntry:
		return &e.config
	case *listedConfig:
		return &e.config
	}
	return &Config{}
}

func (m *modifierSums) isUsed() bool { return len(m.total) > 0 || m.base != nil && m.base.isUsed() }

// erasingCommand notes in the list of a poll that a viewer is erased, if the poll knows the viewer.
type erasingCommand struct{ ids []string }

func (c erasingCommand) decideAt(s *State, _ int64) (pollDecision, error) {
	if !s.list.isRunning() {
		return pollDecision{}, nil
	}
	for _, id := range c.ids {
		if _, known := s.numberOf(id); known {
			return storeEntry(listedEvent{kind: kindErasing, place: s.list.place()})
		}
	}
	return pollDecision{}, nil
}

func (erasingCommand) answerFrom(*State) Answer { return Answer{} }

func (c erasingCommand) appendTo(buf []byte) []byte {
	return appendJSON(append(buf, commandErasing), c.ids)
}

// noteErasure notes in the list of a poll that a viewer is about to be erased: an erased viewer may
// vote again, so that the number of erasures is part of the result. It does nothing to a poll that
// has no list, or does not know the viewer. An erasure that was cut off and is repeated counts twice.
func (s *Service) noteErasure(ctx context.Context, name string, ids []string) error {
	p, known := parseListed(name)
	if !known || !s.reads(stream.LevelVerifiable) {
		return nil // no process has a list
	}
	_, err := s.engine.DoFrom(ctx, stream.LevelVerifiable, name, erasingCommand{ids})
	s.moved(p)
	return err
}

// parseListed returns the poll whose stream is stored under a name, if it may have a list.
func parseListed(name string) (Poll, bool) {
	p, err := ParseStream(name)
	return p, err == nil && p.Environment == listedEnvironment
}

// keepsList reports whether the entries of a poll have to stay because its list shows them.
func (s *Service) keepsList(ctx context.Context, name string) (bool, error) {
	p, known := parseListed(name)
	if !known || !s.reads(stream.LevelVerifiable) {
		return false, nil // no process has a list
	}
	l, err := s.readList(ctx, p, listQuery{visit: true})
	if err != nil || l == nil || l.Status >= verifiable.TreeReset {
		return false, err
	}
	return !l.Final || s.clock.Now().Sub(time.UnixMilli(l.At)) < l.Rules().Keep, nil
}
