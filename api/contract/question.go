package contract

// Limits of questions and answers (section 8).
const (
	MaxAnswer        = 256 // bytes
	MaxAnswers       = 10  // of a viewer to a question
	MaxBlocked       = 100 // words and phrases
	MaxBlockedPhrase = 64  // bytes
	MaxDecisions     = 10_000
	MaxRanking       = 10_000 // answers of one request
	DefaultRanking   = 100    // and those in an event
)

// QuestionConfig decides which answers a question accepts and shows (section 2.11). Services store
// it and exports contain it in this encoding.
type QuestionConfig struct {
	Normalization    Normalization `json:"normalization"`
	MinLength        int64         `json:"minLength"` // characters
	MaxLength        int64         `json:"maxLength"` // characters
	Blocked          []string      `json:"blocked"`
	AnswersPerViewer int64         `json:"answersPerViewer"`
	Schedule
	// HoldAnswers keeps each answer that is not shown yet from the ranking until staff shows it.
	HoldAnswers bool `json:"holdAnswers"`
}

// Normalization decides which answers are the same one.
type Normalization string

// The normalizations of section 2.11.
const (
	// ExactAnswers takes only equal answers for the same.
	ExactAnswers Normalization = "none"
	// CompatibleAnswers takes answers for the same that differ only in case, in the form of
	// their characters or in blanks.
	CompatibleAnswers Normalization = "nfkc"
)

// DefaultQuestionConfig returns the configuration under which a question behaves as one without.
func DefaultQuestionConfig() QuestionConfig {
	return QuestionConfig{Normalization: ExactAnswers, MinLength: 1, MaxLength: MaxAnswer, AnswersPerViewer: 1}
}

// Bounds returns the limits of the members, with the sizes that c has.
func (c *QuestionConfig) Bounds() []Bound {
	return []Bound{
		{"minLength and maxLength", Range, c.MinLength, 1, MaxAnswer},
		{"minLength and maxLength", Range, c.MaxLength, c.MinLength, MaxAnswer},
		{"blocked", Entries, int64(len(c.Blocked)), 0, MaxBlocked},
		{"blocked", Phrases, longest(c.Blocked), 0, MaxBlockedPhrase},
		{"answersPerViewer", Between, c.AnswersPerViewer, 1, MaxAnswers},
	}
}
