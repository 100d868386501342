package contract

// Names of events (section 6). The id of a poll, a buffer, a question or a document follows
// those that end with a colon. Clients compare them to the letter.
const (
	VoteUpdate = "vote_update:"
	VoteDelete = "vote_delete:"
	PollUpdate = "poll_update:"
	Accumulate = "accumulate:"
	RankUpdate = "rank_update:"

	ChannelStateUpdate    = "channel_state_update"
	ExtensionStateUpdate  = "extension_state_update"
	ChannelConfigUpdate   = "channel_config_update"
	ExtensionConfigUpdate = "extension_config_update"
	StoreUpdate           = "json_store_update:" // of named documents

	// Resync tells its audience that it missed too much and must read everything again.
	Resync = "resync"
)

// Events returns the names of all events but messages and [Resync].
func Events() []string {
	return []string{
		VoteUpdate, PollUpdate, VoteDelete, ChannelStateUpdate, ExtensionStateUpdate,
		ChannelConfigUpdate, ExtensionConfigUpdate, StoreUpdate, Accumulate, RankUpdate,
	}
}

// PollEvents returns the names of the events about a poll, or the topic for those about all
// polls where the id is *.
func PollEvents(id string) []string {
	return []string{VoteUpdate + id, PollUpdate + id, VoteDelete + id}
}

// Targets of events and messages (section 6).
const (
	TargetBroadcast = "broadcast"
	TargetGlobal    = "global"
	TargetWhisper   = "whisper-" // the opaque id of the viewer follows
)

// Targets of what a game receives over GameLink without having asked. A push about a state has
// the name of its document, channel or extension.
const (
	PushPoll       = "poll"
	PushMatchPoll  = "match_poll"
	PushConfig     = "config"
	PushPurchase   = "twitchPurchaseBits"
	PushDatastream = "datastream"
)
