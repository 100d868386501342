package voting

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Change changes a poll's configuration, as a whole or in part.
type Change struct {
	// Config takes the place of the configuration where there is no patch.
	Config Config `json:"config"`
	// Patch is a JSON Merge Patch (RFC 7396) of the configuration, an object with the
	// members of section 2.4. A member that it removes gets the value that it has in
	// DefaultConfig.
	Patch json.RawMessage `json:"patch,omitempty"`
	// IfMatch names what the change needs of the configuration in force; nil: nothing.
	IfMatch *Precondition `json:"ifMatch,omitempty"`
	// KeepVotes keeps the votes of a strict poll under another question.
	KeepVotes bool `json:"keepVotes,omitempty"`

	// Seed is for a list of public entries, where the configuration begins or hides one.
	Seed *listSeed `json:"seed,omitempty"`

	// Cleared is set for the change after a clearCommand, of the configuration that this deletes.
	Cleared bool `json:"cleared,omitempty"`
}

// Precondition holds while a configuration is saved that has one of the versions, or any.
type Precondition struct {
	Any      bool    `json:"any,omitempty"`
	Versions []int64 `json:"versions,omitempty"`
}

// Refusals of a change.
var (
	errNothingToPatch = fault.New(fault.NotFound, "The poll has neither a configuration nor votes")
	errNothingToClear = fault.New(fault.NotFound, "The poll has no configuration")
	errOtherVersion   = fault.New(fault.Mismatch, "The configuration is not the one that If-Match names")
)

// configureFrom returns the command that saves what the change makes of the configuration in
// force, nil where there is none; used reports whether the poll has anything else.
func (c Change) configureFrom(id string, now *Config, used bool) (configureCommand, error) {
	if c.Patch != nil && now == nil && !used {
		return configureCommand{}, errNothingToPatch
	}
	if m := c.IfMatch; m != nil && (now == nil || !m.Any && !slices.Contains(m.Versions, now.Version)) {
		return configureCommand{}, errOtherVersion
	}
	configure := configureCommand{id: id, config: c.Config, keepVotes: c.KeepVotes, seed: c.Seed}
	if c.Patch == nil {
		return configure, nil
	}
	before := DefaultConfig()
	if now != nil {
		before = *now
	}
	configure.config = DefaultConfig()
	if err := exactjson.DecodePatched(before.encodeJSON(), c.Patch, &configure.config); err != nil {
		return configureCommand{}, errInvalidBody
	}
	return configure, nil
}

// changeCommand changes the configuration of the poll with the given id (section 4.1, PATCH
// /vote_config, and POST with a condition).
type changeCommand struct {
	id     string
	change Change
}

func (c changeCommand) decideAt(s *State, at int64) (pollDecision, error) {
	configure, err := c.change.configureFrom(c.id, s.config, s.used)
	if c.change.Cleared {
		if s.config != nil || s.cleared == nil {
			return pollDecision{}, errNothingToClear // as the clearCommand was refused
		}
		configure, err = c.change.configureCleared(c.id, s.cleared)
	}
	if err != nil {
		return pollDecision{}, err
	}
	decision, err := configure.decideAt(s, at)
	if err != nil {
		return pollDecision{}, err
	}
	if !decision.Store { // the same one is stored again only to keep the key of a request
		decision.Entry, decision.Storable = configEntry{*s.config}, true
	}
	version := savedConfig(decision.Entry).Version
	decision.Result.version = &version
	return decision, nil
}

func (changeCommand) answerFrom(*State) Answer { return Answer{} }

// Change changes the poll's configuration and returns its version, which is not known of a
// repetition. It refuses a change whose condition does not hold with fault.Mismatch, and a patch
// of a poll that has neither a configuration nor votes with fault.NotFound. It decides in the
// order of the log, so that changes of different members never undo one another.
func (s *Service) Change(ctx context.Context, p Poll, c Change, keys ...*once.Key) (version int64, known bool, err error) {
	level, refusal := c.level()
	if refusal != nil && !s.reads(level) {
		return 0, false, refusal
	}
	if c.Seed = s.seedFor(p); c.Seed != nil {
		level = max(level, stream.LevelVerifiable)
	}
	answer, err := s.engine.DoFrom(ctx, level, p.Stream(), changeCommand{p.ID, c}, keys...)
	s.moved(p)
	if err != nil || answer.version == nil {
		return 0, false, err
	}
	return *answer.version, true, nil
}

// level returns the level of the processes that may save the change, and the refusal while others
// are alive, nil where any release may: an owner of an earlier one would leave out what it does not
// know and say that it is saved.
func (c *Change) level() (level stream.Level, refusal error) {
	var asked struct {
		contract.PollSettings
		TieBreak *int64   `json:"tieBreak"`
		Pictures []string `json:"pictures"`
	}
	if c.Patch == nil {
		asked.PollSettings, asked.TieBreak, asked.Pictures = c.Config.PollSettings, c.Config.TieBreak, c.Config.Pictures
	} else {
		_ = json.Unmarshal(c.Patch, &asked) // what is malformed is refused later
	}
	rules := contract.PollSettings{Entries: asked.Entries, MinVoters: asked.MinVoters, KeepDays: asked.KeepDays, NoReceipts: asked.NoReceipts}
	switch {
	case asked.Verifiable || rules != contract.PollSettings{}:
		return stream.LevelVerifiable, errListSeed
	case asked.DeviceVoting:
		return stream.LevelDevices, errDevices
	case asked.WeightedVotes:
		return stream.LevelWeights, errWeights
	case asked.TieBreak != nil:
		return stream.LevelTieBreaks, errTieOpen
	case len(asked.Pictures) > 0:
		return stream.LevelPictures, errPictures
	}
	return stream.LevelChanges, nil
}

// seedFor returns what a list of the poll would need, nil where the poll can have none.
func (s *Service) seedFor(p Poll) *listSeed {
	if !s.lists || p.Environment != listedEnvironment || !s.reads(stream.LevelVerifiable) {
		return nil
	}
	return newSeed(p)
}

// clearCommand deletes the votes and the configuration of a poll for the change that follows in the
// same call, with Cleared, and saves the configuration again. Where that would be refused it deletes
// nothing.
type clearCommand changeCommand

func (c clearCommand) decideAt(s *State, at int64) (pollDecision, error) {
	if s.config == nil {
		return pollDecision{}, errNothingToClear
	}
	configure, err := c.change.configureCleared(c.id, s.config)
	if err != nil {
		return pollDecision{}, err
	}
	if _, err := configure.decideAt(&State{}, at); err != nil {
		return pollDecision{}, err
	}
	return s.decideReset(s.config)
}

func (clearCommand) answerFrom(*State) Answer { return Answer{} }

// configureCleared is configureFrom for a configuration that loses its votes, and with them the decision of
// their tie.
func (c Change) configureCleared(id string, now *Config) (configureCommand, error) {
	configure, err := c.configureFrom(id, now, true)
	if tie := configure.config.TieBreak; tie != nil && now.TieBreak != nil && *tie == *now.TieBreak {
		configure.config.TieBreak = nil
	}
	return configure, err
}

// ClearVotes deletes the poll's votes and modifiers and changes its configuration as Change does,
// both in one append: the poll is never without its configuration, and no other change is undone. A
// poll without a configuration is refused with fault.NotFound.
func (s *Service) ClearVotes(ctx context.Context, p Poll, c Change, keys ...*once.Key) error {
	if level, refusal := c.level(); refusal != nil && !s.reads(level) {
		return refusal
	}
	c.Seed, c.Cleared = s.seedFor(p), true
	var whole *once.Key
	if len(keys) > 0 {
		whole = keys[0]
	}
	commands := []Command{clearCommand{p.ID, c}, changeCommand{p.ID, c}}
	batch, err := s.engine.DoAllFrom(ctx, stream.LevelClears, p.Stream(), commands, standingQuery{}, whole)
	s.moved(p)
	if err != nil {
		return err
	}
	return cmp.Or(batch.Refusals()...)
}
