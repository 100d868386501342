package contract

import "time"

// MaxID limits the id in a query or in a token, and that of a viewer, in bytes.
const MaxID = 256

// Limits of requests (sections 1.4 and 8), in bytes where they measure text.
const (
	MaxRequestID   = 128
	MaxKey         = 128 // an Idempotency-Key
	MaxCredential  = 4 << 10
	MaxPublicBody  = 32 << 10 // of a route without a credential: a thousand user ids fit
	MaxMessageBody = 32 << 10
	MaxIgnored     = 10 // members that a header names
	MaxMemberName  = 64 // of these
)

// KeyLifetime is the time for which an Idempotency-Key is kept (section 1.4), and MinKeyLifetime
// where the room for keys is short.
const (
	KeyLifetime    = 24 * time.Hour
	MinKeyLifetime = time.Minute
)

// Limits of JSON that is stored (section 8). Other programs read it, and some of them stop at 64
// levels or at the range of a double. Answers add levels of their own.
const (
	MaxNesting = 48 // objects and arrays within one another
	MaxNumber  = 40 // characters
)

// Limits of documents and lists (section 8).
const (
	MaxViewers           = 1000    // that one request reads or writes
	MaxNamedDocument     = 4 << 10 // bytes of compact JSON
	MaxNamed             = 10_000  // of a channel
	SandboxTokenLifetime = 30 * time.Minute
	MaxSandboxTokens     = 1000    // of a request
	UsersPage            = 1000    // of viewers that share their user id
	BufferPage           = 10_000  // entries
	BufferPageBytes      = 8 << 20 // of entries
)

// Limits of open purchases (section 4.12). Bits are paid before a transaction comes, so they have
// more room.
const (
	MaxBuyerCoins   = 32 // of a buyer in a channel
	MaxChannelCoins = 256
	MaxBuyerBits    = 256
	MaxChannelBits  = 64 * MaxChannelCoins
)

// Limits of messages and subscriptions (section 8), in bytes where they measure text.
const (
	MaxMessageName = 128
	MaxMessageData = 8 << 10
	MaxTopics      = 32
	MaxTopic       = 300

	MaxSubscribers       = 50_000 // of a process
	MaxViewerSubscribers = 8      // of an identity
	MaxEventsBehind      = 64     // of a subscriber
	MaxFollowedPolls     = 10_000 // of a channel, by an open topic

	MessageLifetime = 24 * time.Hour
	KeptMessages    = 256 // of a feed, for clients that reconnect
	// CommentInterval is the time between the comments that show an idle client that its
	// stream works. With each its credential is verified again.
	CommentInterval = 15 * time.Second
)

// Limits of overlay keys (section 8).
const (
	MaxOverlayKeys  = 100 // of a channel
	MaxOverlayPolls = 10  // of a key, and its questions: its topics are those of one subscription
	MaxOverlayName  = 128 // bytes
	MaxOverlayYears = 100 // that it is good for
)

// Limits of staff keys (section 8).
const (
	MaxStaffKeys = 50  // of a channel
	MaxStaffName = 128 // bytes
	MaxStaffDays = 366 // that a key is good for
)

// The scopes of a staff key: what its holder may do.
const (
	ScopePolls   = "polls"
	ScopeAnswers = "answers"
)
