package contract

// Limits of the registry (section 8): the largest that an extension may set, which the stores and
// the memory of a replica are sized for, and those of the registry itself.
const (
	MaxTokenHours  = 87600 // 10 years
	MaxStoredBytes = 1 << 20
	MaxBodyBytes   = 64 << 20
	MaxQuota       = 1 << 40

	MaxRegistryID = 128 // of a client or an app
	MaxSinks      = 8   // of an extension in one environment
	MaxSinkName   = 63

	MaxViewerIssuers = 8 // of an extension

	MinKeyBytes = 16   // decoded; a shorter one can be guessed
	MaxKeyBytes = 4096 // that no Extension takes the room of the others
	// SampleKeyPrefix begins every key that this project publishes.
	SampleKeyPrefix = "sample-"

	MinRetentionHours = 1     // longer than any request or call to a peer takes
	MaxRetentionHours = 87600 // 10 years
)

// Limits of an extension that sets none (section 8). Those from streams on are quotas of an hour
// or a day.
const (
	DefaultTokenHours        = 720
	DefaultDocumentBytes     = 64 << 10
	DefaultBodyBytes         = 256 << 10
	DefaultAdminMapBytes     = 4 << 20
	DefaultEntryBytes        = 64 << 10
	DefaultMessagesPerSecond = 10
	DefaultMessagesAtOnce    = 100

	DefaultIdentityStreams    = 1_000 // an hour
	DefaultExtensionStreams   = 100_000
	DefaultIdentityBytes      = 64 << 20
	DefaultExtensionBytes     = 64 << 30
	DefaultExtensionDocuments = 1_000_000
	DefaultIdentityWhispers   = 1_000 // an hour
)
