package ranking

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Change changes the configuration of a question, as a whole or in part.
type Change struct {
	// Config takes the place of the configuration where there is no patch.
	Config Config `json:"config"`
	// Patch is a JSON Merge Patch (RFC 7396) of the configuration, an object with the
	// members of section 2.11. A member that it removes gets the value that it has in
	// DefaultConfig.
	Patch json.RawMessage `json:"patch,omitempty"`
	// IfMatch names what the change needs of the configuration in force; nil: nothing.
	IfMatch *Precondition `json:"ifMatch,omitempty"`
}

// Precondition holds while a configuration is saved that has one of the digests, or any.
type Precondition struct {
	Any     bool     `json:"any,omitempty"`
	Digests []string `json:"digests,omitempty"`
}

// Digest returns a text that is the same for equal configurations only.
func (c Config) Digest() string {
	sum := sha256.Sum256(c.encodeJSON())
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Refusals of a change.
var (
	errNothingToPatch = fault.New(fault.NotFound, "The question has neither a configuration nor answers")
	errOtherConfig    = fault.New(fault.Mismatch, "The configuration is not the one that If-Match names")
	errMalformedPatch = fault.New(fault.Invalid, "Invalid body")
)

// apply returns what the change makes of the configuration in force, nil where there is none;
// exists reports whether there is a question.
func (c Change) apply(now *Config, exists bool) (Config, error) {
	if c.Patch != nil && !exists {
		return Config{}, errNothingToPatch
	}
	if m := c.IfMatch; m != nil && (now == nil || !m.Any && !slices.Contains(m.Digests, now.Digest())) {
		return Config{}, errOtherConfig
	}
	if c.Patch == nil {
		return c.Config, nil
	}
	before := DefaultConfig()
	if now != nil {
		before = *now
	}
	changed := DefaultConfig()
	if err := exactjson.DecodePatched(before.encodeJSON(), c.Patch, &changed); err != nil {
		return Config{}, errMalformedPatch
	}
	if changed.Blocked == nil {
		changed.Blocked = []string{}
	}
	return changed, nil
}

// change decides about a change of the configuration.
func (b *answerBoard) change(c Change, at int64) (questionDecision, error) {
	config, err := c.apply(b.config(), b.exists())
	if err != nil {
		return questionDecision{}, err
	}
	decision, err := b.configure(config, at)
	if err != nil {
		return questionDecision{}, err
	}
	if !decision.Store { // the same one is stored again only to keep the key of a request
		decision.Entry, decision.Storable = answerEntry{kind: entryConfigured, config: b.config()}, true
	}
	decision.Result.config = decision.Entry.config
	return decision, nil
}

// config returns the saved configuration, nil where there is none.
func (b *answerBoard) config() *Config {
	if b.filter == nil {
		return nil
	}
	return b.filter.Config
}

// Change changes the question's configuration, for later answers, and returns the digest of
// what is then saved, "" of a repetition. It refuses a change whose condition does not hold with
// fault.Mismatch, and a patch of a question that has neither a configuration nor answers with
// fault.NotFound. It decides in the order of the log, so that changes of different members never
// undo one another.
func (s *Service) Change(ctx context.Context, q Question, c Change, keys ...*once.Key) (digest string, err error) {
	command := questionCommand{answerEntry: answerEntry{kind: entryConfigured}, change: &c}
	made, err := s.engine.DoFrom(ctx, stream.LevelChanges, q.Stream(), command, keys...)
	if err != nil || made.config == nil {
		return "", err
	}
	return made.config.Digest(), nil
}
