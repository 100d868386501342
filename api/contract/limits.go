package contract

// MaxID limits the id in a query or in a token, and that of a viewer, in bytes.
const MaxID = 256

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

// Limits of messages and subscriptions (section 8), in bytes where they measure text.
const (
	MaxMessageName = 128
	MaxMessageData = 8 << 10
	MaxTopics      = 32
	MaxTopic       = 300
)

// Limits of overlay keys (section 8).
const (
	MaxOverlayKeys  = 100 // of a channel
	MaxOverlayPolls = 10  // of a key, and its questions: its topics are those of one subscription
	MaxOverlayName  = 128 // bytes
)

// Limits of games over GameLink, in bytes where they measure text.
const (
	MaxMatches       = 100 // of an extension
	MaxMatchChannels = 1000
	MaxMatchPolls    = 32 // that have not ended
	MaxMatchID       = 128
	MaxGameName      = 256
	MaxGameLogo      = 1 << 20 // a data URL
)

// Limits of the registry (section 8): the largest that an extension may set, which the stores and
// the memory of a replica are sized for, and those of the registry itself.
const (
	MaxTokenHours  = 87600 // 10 years
	MaxStoredBytes = 1 << 20
	MaxBodyBytes   = 64 << 20
	MaxQuota       = 1 << 40
	MaxSinks       = 8  // of an extension in one environment
	MinKeyBytes    = 16 // decoded; a shorter one can be guessed
)

// QuestionBounds returns the limits of a question's configuration, with the sizes that it has.
func QuestionBounds(minLength, maxLength int64, blocked []string, answers int64) []Bound {
	return []Bound{
		{"minLength and maxLength", Range, minLength, 1, MaxAnswer},
		{"minLength and maxLength", Range, maxLength, minLength, MaxAnswer},
		{"blocked", Entries, int64(len(blocked)), 0, MaxBlocked},
		{"blocked", Phrases, longest(blocked), 0, MaxBlockedPhrase},
		{"answersPerViewer", Between, answers, 1, MaxAnswers},
	}
}
