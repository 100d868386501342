package contract

import "time"

// Limits of games over GameLink, in bytes where they measure text.
const (
	MaxMatches       = 100 // of an extension
	MaxMatchChannels = 1000
	MaxMatchPolls    = 32 // that have not ended
	MaxMatchID       = 128
	MatchLapse       = time.Hour // after which one ends that no request names and that has no poll
	MaxGameName      = 256
	MaxGameLogo      = 1 << 20 // a data URL

	MaxGameMessage       = 2 << 20
	MaxUnreadByGame      = 4 << 20 // output
	MaxGameSubscriptions = 128     // of a connection

	// GamePingInterval is the time between two pings, with which a credential is looked at again.
	GamePingInterval = 30 * time.Second
)

// PINs and the credentials of games (section 4.11).
const (
	PINLetters     = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
	PINLength      = 6
	PINLifetime    = 5 * time.Minute
	MaxPINs        = 5   // open ones of a channel; a further one replaces the oldest
	MaxShown       = 512 // open ones that games of an extension show
	MaxShownFrom   = 8   // of these, from one address; a further one replaces the oldest
	PINsPerSecond  = 1   // of an address, and tries of a channel
	PINsAtOnce     = 20
	MaxPairedGames = 64 // of a channel; a further one replaces the oldest

	GameTokenLifetime = 7 * 24 * time.Hour
	RefreshLifetime   = 365 * 24 * time.Hour
	// RefreshOverlap is the time for which a refresh token works after its successor was used.
	RefreshOverlap = time.Minute
)

// Limits of the connections of games that have not authenticated (section 4.11).
const (
	MaxUnauthenticated        = 16       // of an address
	DisplacementsPerSecond    = 1        // by an address, of connections of all
	MaxUnauthenticatedMessage = 16 << 10 // bytes: a credential fits
	MaxGuesses                = 5        // refused credentials of a connection
	MaxGuessesPerMinute       = 20       // of an address
	GuessDelay                = 2 * time.Second
	// MaxRefused limits the other refused requests of a connection: a game may send what it
	// has queued before its PIN is typed.
	MaxRefused = 100
	// MessageTimeout limits the time from the first frame of a message to its last one.
	MessageTimeout = 10 * time.Second
)

// Actions of the requests of games.
const (
	ActionAuthenticate   = "authenticate"
	ActionSubscribe      = "subscribe"
	ActionUnsubscribe    = "unsubscribe"
	ActionCreate         = "create"
	ActionGet            = "get"
	ActionSet            = "set"
	ActionPatch          = "patch"
	ActionUpdate         = "update" // another name of patch, and the action of every push
	ActionDelete         = "delete"
	ActionReconfigure    = "reconfigure"
	ActionBroadcast      = "broadcast"
	ActionValidate       = "validate"
	ActionRefund         = "refund"
	ActionClear          = "clear"
	ActionRemove         = "remove"
	ActionKeepAlive      = "keepalive"
	ActionAddChannels    = "add_channels"
	ActionRemoveChannels = "remove_channels"
)

// Targets of the requests of games, beside those that pushes have, too.
const (
	GameAuthentication = "authentication"
	GameState          = "state"
	GameChannel        = "channel"   // and the id of its documents
	GameExtension      = "extension" // likewise
	GameMatch          = "match"
	GameMatchmaking    = "matchmaking"
	GameDrops          = "drops"
	GameMetadata       = "gameMetadata"
	GameActions        = "gatewayActions"
	GameActionState    = "gatewayActionState"

	GameTransaction          = "transaction"
	GameTransactionComplete  = "transaction_complete" // another name of purchases, as the next one
	GameTransactionCompleted = "transaction_completed"
)
