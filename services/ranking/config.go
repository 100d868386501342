package ranking

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Config is a question's configuration, which decides about answers.
type Config contract.QuestionConfig

// DefaultConfig returns the configuration under which a question behaves as one without.
func DefaultConfig() Config { return Config(contract.DefaultQuestionConfig()) }

// checkLimits returns why the configuration may not be stored, or nil.
func (c Config) checkLimits() error {
	if c.Normalization != contract.ExactAnswers && c.Normalization != contract.CompatibleAnswers {
		return fault.Newf(fault.Invalid, "normalization must be %s or %s", contract.ExactAnswers, contract.CompatibleAnswers)
	}
	for _, b := range (*contract.QuestionConfig)(&c).Bounds() {
		if b.IsBroken() || b.Measure == contract.Phrases && slices.ContainsFunc(c.Blocked, isWordless) {
			return fault.New(fault.Invalid, b.Reason())
		}
	}
	if reason := c.ScheduleProblem(); reason != "" {
		return fault.New(fault.Invalid, reason)
	}
	return nil
}

func isWordless(phrase string) bool { return joinWords(foldText(phrase)) == "" }

// encodeJSON returns the form in which it is stored and forwarded. Equal configurations
// have equal encodings.
func (c Config) encodeJSON() []byte {
	encoded, err := exactjson.Marshal(c)
	if err != nil {
		panic(err) // strings, integers and booleans
	}
	return encoded
}

func decodeConfig(encoded []byte) (*Config, error) {
	c := &Config{}
	err := json.Unmarshal(encoded, c)
	return c, err
}

// answerFilter judges answers as a configuration wants.
type answerFilter struct {
	*Config
	phrases []blockedPhrase
}

func newFilter(c *Config) *answerFilter {
	f := &answerFilter{Config: c}
	for _, phrase := range c.Blocked {
		f.phrases = append(f.phrases, newPhrase(phrase))
	}
	return f
}

// The reasons for which an answer is not accepted (section 4.3).
const (
	reasonClosed  = "The question is closed"
	reasonShort   = "The answer is too short"
	reasonLong    = "The answer is too long"
	reasonBlocked = "The answer is not allowed"
)

// judgeAnswer returns an answer as it is shown and the group it belongs to, or the reason for
// which it is not accepted.
func (f *answerFilter) judgeAnswer(key string, at int64) (text, group, reason string) {
	if f.StatusAt(at) != contract.Active {
		return "", "", reasonClosed
	}
	text, group = f.normalize(key)
	characters := int64(utf8.RuneCountInString(text))
	switch {
	case characters < f.MinLength || group == "":
		return "", "", reasonShort
	case characters > f.MaxLength || max(len(text), len(group)) > contract.MaxAnswer:
		return "", "", reasonLong
	case f.blocksAnswer(text):
		return "", "", reasonBlocked
	}
	return text, group, ""
}

func (f *answerFilter) normalize(key string) (text, group string) {
	if f.Normalization == contract.ExactAnswers {
		return key, key
	}
	return tidyText(key), foldText(key)
}

func (f *answerFilter) blocksAnswer(text string) bool {
	if len(f.phrases) == 0 {
		return false
	}
	words := joinWords(foldText(text))
	return slices.ContainsFunc(f.phrases, func(p blockedPhrase) bool { return p.isIn(words) })
}
