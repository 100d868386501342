package operation

import (
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// The services that the operations are divided among. One process may serve all of them or one
// alone.
const (
	VotingService       = "voting"
	AccumulationService = "accumulation"
	RankingService      = "ranking"
	StateService        = "state"
	SandboxService      = "sandbox"
)

// Definition is one thing that a caller can ask for.
type Definition struct {
	// Name is the operation's in logs, traces and documents.
	Name string
	// Service is the one that has the operation.
	Service string
	// Method and Paths are its routes below the base address. The first path is the contract's.
	Method string
	Paths  []string
	Access accessRule
	// Public reports that it needs no credential, credentialInQuery that it takes one in
	// access_token, too.
	Public, CredentialInQuery bool
	// ViewerCookie reports that the page for viewers asks for it, whose token is in a cookie.
	ViewerCookie bool
	// Shared reports that the answers are the same for everyone and that caches may keep them. The
	// paths stand beside the base address, and their elements may hold escaped slashes.
	Shared bool
	// Long reports that answers may be long, Endless that they last until the client leaves.
	Long, Endless bool
	// OfViewers reports that staff sends what viewers do.
	OfViewers bool
	// bodyBytes returns the largest body in bytes; nil: the extension's BodyBytes.
	bodyBytes func(*Caller) int
	// Served reports whether operations of a configuration have what it needs.
	Served func(*Config) bool
}

// define returns an operation at a route, such as "GET /poll", which may have several paths.
func define(name, route string, access accessRule) Definition {
	words := strings.Fields(route)
	return Definition{Name: name, Method: words[0], Paths: words[1:], Access: access}
}

func (d Definition) withLongAnswers() Definition { d.Long = true; return d }

func (d Definition) ofViewers() Definition { d.OfViewers = true; return d }

func (d Definition) withoutCredential() Definition { d.Public = true; return d }

func (d Definition) withViewerCookie() Definition { d.ViewerCookie = true; return d }

// forEveryone is withoutCredential for answers that caches may keep.
func (d Definition) forEveryone() Definition { d.Public, d.Shared = true, true; return d }

func (d Definition) withBodyBytes(limit func(*Caller) int) Definition { d.bodyBytes = limit; return d }

// Table returns all operations, the most requested first.
func Table() []Definition {
	return slices.Concat(
		inService(VotingService, func(c *Config) bool { return c.Voting.Votes != nil }, votingOperations()),
		inService(VotingService, func(c *Config) bool { return c.Voting.Votes != nil && c.PollLister != nil }, pollOperations()),
		inService(VotingService, func(c *Config) bool { return c.Voting.Votes != nil && c.Results != nil }, resultOperations()),
		inService(VotingService, func(c *Config) bool { return c.Voting.Votes != nil && c.Pictures != nil }, pictureOperations()),
		inService(AccumulationService, func(c *Config) bool { return c.Accumulation != nil }, accumulationOperations()),
		inService(RankingService, func(c *Config) bool { return c.Ranking.Answers != nil }, rankingOperations()),
		inService(StateService, func(c *Config) bool { return c.State.Scopes != nil }, stateOperations()),
		inService(StateService, func(c *Config) bool { return c.Live != nil }, eventOperations()),
		inService(StateService, func(c *Config) bool { return c.Messages != nil }, messageOperations()),
		inService(StateService, func(c *Config) bool { return c.State.Scopes != nil && c.Messages != nil }, storeOperations()),
		inService(StateService, func(c *Config) bool { return c.Roster != nil }, rosterOperations()),
		inService(StateService, func(c *Config) bool { return c.State.Scopes != nil && c.Pairing.Games != nil }, pairingOperations()),
		inService(StateService, func(c *Config) bool { return c.Purchases != nil && c.State.Scopes != nil && c.Messages != nil }, purchaseOperations()),
		inService(StateService, func(c *Config) bool { return c.State.Scopes != nil }, emptyOperations()),
		inService(SandboxService, func(c *Config) bool { return c.Sandbox != nil }, sandboxOperations()),
	)
}

func inService(service string, served func(*Config) bool, rows []Definition) []Definition {
	for i := range rows {
		rows[i].Service, rows[i].Served = service, served
	}
	return rows
}

// Paths returns the paths below the base address that belong to a service, in the order of the
// table.
func Paths(service string) (paths []string) {
	for _, o := range Table() {
		for _, path := range o.Paths {
			if o.Service == service && !o.Shared && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// votingOperations returns those of section 4.1.
func votingOperations() []Definition {
	logs := accessRule{roles: []Role{Backend, Admin}, validatedAdmin: true}
	return []Definition{
		define("vote.cast", "POST /vote", anyone().and(Device)).withViewerCookie(),
		define("vote.read", "GET /vote", onlookers().orPolls().and(Device)).withViewerCookie(),
		define("vote.reset", "DELETE /vote", staff().orPolls()),
		define("vote.log", "GET /vote_logs", logs).withLongAnswers(),
		define("vote.modify", "POST /vote_modifier", staff()),
		define("poll.config.read", "GET /vote_config", onlookers().orPolls()),
		define("poll.config.replace", "POST /vote_config", staff().orPolls()),
		define("poll.config.change", "PATCH /vote_config", staff().orPolls()),
		define("vote.history", "GET /vote_history", onlookers().orPolls()).withLongAnswers(),
		define("vote.castall", "POST /votes", AdminOrBackend()).ofViewers(),
		define("device.create", "POST /devices", accessRule{}).withoutCredential(),
		define("poll.result", "GET /public/{client}/{channel}/{poll}/result.json", accessRule{}).forEveryone(),
	}
}

// resultOperations returns those of section 4.16.
func resultOperations() []Definition {
	return []Definition{
		define("vote.receipt", "GET /receipt", anyone()).withViewerCookie(),
		define("log.file", "GET /log/{file}", accessRule{}).forEveryone(),
	}
}

// pictureOperations returns those of section 4.24.
func pictureOperations() []Definition {
	staff := staff().orPolls()
	limit := func(*Caller) int { return contract.MaxPictureBody }
	return []Definition{
		define("picture.add", "POST /pictures", staff).withBodyBytes(limit),
		define("picture.list", "GET /pictures", staff),
		define("picture.remove", "DELETE /pictures", staff),
		define("picture.read", "GET /public/{client}/{channel}/{picture}/picture.png", accessRule{}).forEveryone(),
	}
}

// pollOperations returns those of section 4.1 that show polls.
func pollOperations() []Definition {
	return []Definition{
		define("poll.read", "GET /poll", onlookers().orPolls()).withViewerCookie(),
		define("poll.list", "GET /polls", onlookers().orPolls()).withLongAnswers(),
	}
}

// accumulationOperations returns those of section 4.2.
func accumulationOperations() []Definition {
	return []Definition{
		define("buffer.append", "POST /accumulate", anyone()),
		define("buffer.read", "GET /accumulate", staff()).withLongAnswers(),
		define("buffer.clear", "DELETE /accumulate", AdminOrBackend()),
	}
}

// rankingOperations returns those of section 4.3.
func rankingOperations() []Definition {
	return []Definition{
		define("question.answer", "POST /rank", anyone()),
		define("question.top", "GET /rank", AllowRoles(Broadcaster, Admin, Backend, Overlay).orAnswers()).withLongAnswers(),
		define("question.clear", "DELETE /rank", staff().orAnswers()),
		define("question.config.read", "GET /rank_config", anyone().orAnswers()),
		define("question.config.replace", "POST /rank_config", staff().orAnswers()),
		define("question.config.change", "PATCH /rank_config", staff().orAnswers()),
		define("question.moderate", "POST /rank_moderation", staff().orAnswers()),
	}
}

// stateOperations returns those of sections 4.4 and 4.5, those of the hosted service's overview
// pages included.
func stateOperations() []Definition {
	return slices.Concat(
		[]Definition{define("state.read", "GET /all_state", anyone())},
		documentOperations("state.channel", "/channel_state", anyone(), staff()),
		documentOperations("state.extension", "/extension_state", anyone(), AdminOrBackend()),
		documentOperations("state.hidden", "/extension_hidden_state", AdminOrBackend(), AdminOrBackend()),
		documentOperations("state.viewer", "/viewer_state", anyone(), anyone()),
		[]Definition{
			define("state.extensionviewer.read", "GET /extension_viewer_state", anyone()),
			define("state.extensionviewer.replace", "POST /extension_viewer_state", anyone()),
			define("state.extensionviewer.change", "PATCH /extension_viewer_state", anyone()).withBodyBytes(viewerStateBytes),
			define("config.read", "GET /config /all_config", anyone()),
		},
		documentOperations("config.channel", "/config/channel /channel_config", anyone(), AllowRoles(Admin, Broadcaster)),
		documentOperations("config.extension", "/config/extension /extension_config", anyone(), AllowRoles(Admin)),
		[]Definition{define("session.read", "GET /user_info", anyone())}, // browser clients ask for it first
	)
}

// documentOperations are the three operations on one document.
func documentOperations(name, paths string, mayRead, mayWrite accessRule) []Definition {
	return []Definition{
		define(name+".read", "GET "+paths, mayRead),
		define(name+".replace", "POST "+paths, mayWrite),
		define(name+".change", "PATCH "+paths, mayWrite),
	}
}

// viewerStateBytes is larger for admins, which may send a map of many viewers.
func viewerStateBytes(c *Caller) int {
	if c.Role == Admin {
		return c.Limits().AdminMapBytes
	}
	return c.Limits().BodyBytes
}

func eventOperations() []Definition {
	follow := define("event.follow", "GET /events", onlookers().orAnyKey())
	follow.CredentialInQuery, follow.Endless = true, true
	return []Definition{follow}
}

// messageOperations publish messages to the subscribers of events, and objects to the games in a
// channel: additions to the contract.
func messageOperations() []Definition {
	limit := func(*Caller) int { return contract.MaxMessageBody }
	return []Definition{
		define("message.broadcast", "POST /broadcast", staff()).withBodyBytes(limit),
		define("message.broadcast.named", "POST /pusher_broadcast", staff()).withBodyBytes(limit),
		define("message.broadcast.extension", "POST /extension_broadcast /broadcast_extension", AdminOrBackend()).withBodyBytes(limit),
		define("message.whisper", "POST /whisper_self", anyone()).withBodyBytes(limit),
		define("datastream.send", "POST /datastream", anyone()).withBodyBytes(func(*Caller) int { return contract.MaxMessageData }),
	}
}

// storeOperations are those on the named documents of a channel.
func storeOperations() []Definition {
	return []Definition{
		define("store.read", "GET /json_store", anyone()),
		define("store.write", "POST /json_store", staff()),
	}
}

// rosterOperations list the viewers that share their user id.
func rosterOperations() []Definition {
	return []Definition{define("roster.list", "GET /user_ids", AllowRoles(Admin, Backend))}
}

// pairingOperations are those of PINs, with which a streamer pairs a game with the channel, and of
// overlay keys and staff keys, the credentials of broadcast software and of moderators.
func pairingOperations() []Definition {
	owner := AllowRoles(Broadcaster)
	return []Definition{
		define("pin.create", "POST /gamelink/token /gamelink/pin", staff()),
		define("game.list", "GET /gamelink/games", staff()),
		define("game.end", "DELETE /gamelink/games", staff()),
		define("pin.open", "POST /pin", accessRule{}).withoutCredential(),
		define("pin.revoke", "DELETE /pin", owner),
		define("pin.confirm", "POST /validate_pin", owner),
		define("pin.exists", "GET /pin_token_exists", owner),
		define("overlaykey.create", "POST /overlay_keys", staff()),
		define("overlaykey.list", "GET /overlay_keys", staff()),
		define("overlaykey.revoke", "DELETE /overlay_keys", staff()),
		define("staffkey.create", "POST /staff_keys", persons()),
		define("staffkey.list", "GET /staff_keys", persons()),
		define("staffkey.revoke", "DELETE /staff_keys", persons()),
		define("staff.read", "GET /staff", staff().orAnyKey()),
		define("staff.signout", "DELETE /staff", staff().orAnyKey()),
		define("staff.signins", "GET /staff/signins", accessRule{}).withoutCredential(),
		define("staff.signin", "GET /staff/signin", accessRule{}).withoutCredential(),
		define("staff.callback", "GET /staff/callback", accessRule{}).withoutCredential(),
		define("staff.device.begin", "POST /staff/device_signin", accessRule{}).withoutCredential(),
		define("staff.device.finish", "POST /staff/device_session", accessRule{}).withoutCredential(),
		define("viewer.signins", "GET /viewer/signins", accessRule{}).withoutCredential(),
		define("viewer.signin", "GET /viewer/signin", accessRule{}).withoutCredential(),
		define("viewer.callback", "GET /viewer/callback", accessRule{}).withoutCredential(),
		define("viewer.signout", "DELETE /viewer", accessRule{}).withoutCredential(),
	}
}

// purchaseOperations are those with which viewers buy.
func purchaseOperations() []Definition {
	return []Definition{
		define("bits.record", "POST /bits/transactions", anyone()),
		define("coins.spend", "POST /coins/purchase", anyone()),
		define("coins.read", "GET /coins", anyone()),
	}
}

// emptyOperations are those of game codes, and of trivia and its teams. There are none here:
// clients of the hosted service see that they have nothing to redeem or to answer.
func emptyOperations() []Definition {
	return []Definition{
		define("code.redeemed", "GET /codes/redeemed", anyone()),
		define("code.redeem", "POST /codes/redeem", anyone()),
		define("code.list", "GET /codes", AdminOrBackend()),
		define("code.delete", "DELETE /codes", AdminOrBackend()),
		define("code.mark", "POST /codes/mark_from_poll /codes/mark_from_list", AdminOrBackend()),
		define("code.eligible", "GET /codes/eligible /codes/eligibility", anyone()),
		define("trivia.read", "GET /curated_poll", anyone()),
		define("trivia.answer", "POST /curated_poll", anyone()),
		define("trivia.leaderboard", "GET /curated_poll_leaderboard", anyone()),
		define("trivia.team.read", "GET /team_membership", anyone()),
		define("trivia.team.join", "POST /team_membership", anyone()),
		define("trivia.state", "POST /curated_poll_state", AdminOrBackend()),
		define("trivia.edit", "POST /curated_poll_edit /curated_poll_edit_option", AdminOrBackend()),
		define("trivia.delete", "DELETE /curated_poll_edit /curated_poll_edit_option", AdminOrBackend()),
	}
}

// sandboxOperations returns that of section 4.6.
func sandboxOperations() []Definition {
	return []Definition{define("sandbox.token", "POST /authtoken", accessRule{}).withoutCredential()}
}

// IsStaffWrite reports whether the operation is one with which staff, and no viewer, changes
// something.
func (d *Definition) IsStaffWrite() bool {
	return d.Method != "GET" && !d.Public && !d.OfViewers && !slices.Contains(d.Access.roles, Viewer)
}

// Audience names the callers that may ask for the operation, for documents.
func (d Definition) Audience() string {
	if d.Public {
		return "everyone, without a credential"
	}
	var names []string
	for _, role := range d.Access.roles {
		if role == Admin && d.Access.validatedAdmin {
			role = "validated admin"
		}
		names = append(names, string(role))
	}
	for _, scope := range d.Access.scopes {
		names = append(names, "staff key for "+scope)
	}
	return strings.Join(names, ", ")
}
