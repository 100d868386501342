package main

import (
	"slices"
	"time"
)

// defenceCase shows that a defence is needed: without it, an attack succeeds.
type defenceCase struct {
	name string
	// off takes the defence out of a test build, together with others that would hide
	// that it is missing.
	off []sourceEdit
	// attack is the row that must fail, and shows a part of one of its problems.
	attack, shows string
	// buildUp is the time that the attack takes more, until what it leaves behind is enough.
	buildUp time.Duration
}

// sourceEdit replaces a text that a file of the program has once.
type sourceEdit struct{ file, from, to string }

// Edits that several defences need.
const (
	contractLimits = "api/contract/limits.go"
	contractGames  = "api/contract/games.go"
	resourcesFile  = "services/internal/process/app/resources.go"
	quotaFile      = "services/internal/feed/live/quota.go"
	budgetsFile    = "services/internal/operation/budgets.go"
	bodyFile       = "services/internal/operation/body.go"
	sandboxFile    = "services/internal/operation/session.go"
	limitsFile     = "services/internal/tenant/limits.go"
	credentials    = "services/internal/operation/credential.go"
	gamesFile      = "services/internal/face/gamelink/server.go"
	quotasFile     = "services/internal/limit/share.go"
	purchasePages  = "services/purchase/pages.go"
	peerAdmission  = "services/internal/cluster/peer/admission.go"
	proxyWatch     = "services/internal/face/httpapi/proxywatch.go"
	gameRights     = "services/internal/face/gamelink/authenticate.go"
)

func defenceCases() []defenceCase {
	return slices.Concat(apiDefences(), gameDefences(), signInDefences(), rigDefences(), pictureDefences())
}

// gameDefences are those of GameLink, and of what anyone with a channel may do.
func gameDefences() []defenceCase {
	messages := sourceEdit{gamesFile, "socket.SetReadLimit(contract.MaxUnauthenticatedMessage)", "socket.SetReadLimit(contract.MaxGameMessage)"}
	return []defenceCase{
		{"staff alone is a game", []sourceEdit{{gameRights, "case !caller.IsStaff():", "case false:"},
			{"services/internal/face/gamelink/dispatch.go", "case !c.caller.IsStaff():", "case false:"}}, "viewers-as-games", "is a game", 0},
		{"messages before authentication", []sourceEdit{messages}, "game-messages", "MiB resident", 0},
		{"answers before authentication", []sourceEdit{messages}, "game-echo", "is answered", 0},
		{"refused credentials of games", []sourceEdit{{contractGames, "MaxGuesses                = 5", "MaxGuesses = 1 << 30"},
			{gamesFile, "limit.Per(contract.MaxGuessesPerMinute, time.Minute)", "limit.Rate{}"}}, "refresh-guesses", "may guess", 0},
		{"places of games that do not authenticate", []sourceEdit{{resourcesFile, "l.unauthenticatedGames = max(l.connections/8, 1)", "l.unauthenticatedGames = 1 << 30"}},
			"silent-games", "new game", 0},
		{"subscribers of a channel's games", []sourceEdit{{quotaFile, "limit.Channel, Limit: max(pool.Limit()/8, 1)", "limit.Channel, Limit: 1 << 40"},
			{quotaFile, "channelSources          = 1024", "channelSources = 1 << 30"}},
			"game-subscriptions", "GET /events", 0},
		{"what was issued under a key ends with it", []sourceEdit{{"services/pairing/pin.go", "return recorded, slices.Contains(active, recorded)", "return recorded, true"},
			{gameRights, `if keyID != "" {`, "if false {"}}, "leaked-key", "outlives its key", 0},
		{"places of PINs of an address", []sourceEdit{{"services/pairing/pin.go", `case from != "" && count[from] >= contract.MaxShownFrom:`, "case false:"},
			{"services/pairing/pin.go", "func(p pinRecord) bool { return p.From == most })", "func(pinRecord) bool { return true })"}}, "invented-pins", "genuine game is gone", 0},
		{"a PIN is good for its channel", []sourceEdit{{"services/pairing/pin.go", "if r.Server {", "if true {"},
			{"services/pairing/pin.go", "Server: r.PINs[at].Server,", "Server: r.PINs[at].Role != broadcaster,"}}, "server-pins", "good for all channels", 0},
		{"a warning of forged clients", []sourceEdit{{proxyWatch, "const manyClientBits = 3850", "const manyClientBits = 1 << 30"}},
			"forged-clients", "does not warn", 0},
		{"the number of clients that proxies name", []sourceEdit{{proxyWatch, "return max(window.before, window.estimate())", "return window.before"}},
			"forged-clients", "acclaim_proxy_clients grows by 0", 0},
		{"open purchases stay listed", []sourceEdit{
			{purchasePages, "case len(p.IDs) >= pageSize:\n\t\treturn errPageFull\n", "case len(p.IDs) >= pageSize:\n\t\tp.IDs = p.IDs[1:]\n"},
			{purchasePages, "listed >= maxPages*pageSize:\n\t\treturn -1\n", "listed >= 0:\n\t\treturn 0\n"}}, "buried-purchase", "vanished", 0},
		{"a share of each channel", []sourceEdit{{quotasFile, "if bucket.taken <= amount*contendedShare {", "if bucket.taken <= amount-1 {"},
			{quotasFile, "limit *= favouredShare", ""}}, "anonymous-drain", "another channel is refused", 0},
		{"a share of each viewer", []sourceEdit{{quotasFile, "if bucket.taken <= amount*contendedShare {", "if bucket.taken <= amount-1 {"}},
			"loud-datastream", "quiet viewer", 0},
		{"quotas of broadcasters", []sourceEdit{{"services/internal/operation/quota.go", "return !c.IsServer() || c.Environment == tenant.Sandbox", "return c.IsAudience() || c.Environment == tenant.Sandbox"}},
			"loud-broadcaster", "MiB stored", 0},
		{"what the sandbox stores", []sourceEdit{{"services/internal/operation/quota.go", "r = r.Part(sandboxDivisor)", "r = r.Part(1)"}},
			"sandbox-store", "MiB stored", 0},
		{"a turn of staff, and one answer to equal questions", []sourceEdit{{"services/internal/operation/past.go", "if a := p.open[q]; a != nil {", "if a := p.open[q]; a != nil && a.waiting < 0 {"},
			{budgetsFile, "audienceHistories  = 1", "audienceHistories = 2"}, {budgetsFile, "viewersHistories   = 3", "viewersHistories = 4"}}, "repeated-history", "staff's question", 0},
		{"the owners of polls of all channels", []sourceEdit{{"services/internal/tenant/build.go", `cmp.Or(block.GlobalPolls, "admin")`, `cmp.Or(block.GlobalPolls, "broadcaster")`}},
			"forged-global", "of a global poll", 0},
		{"connections of unknown peers", []sourceEdit{{peerAdmission, "if lease.Take(1) == nil {", "if _ = lease.Take(1); true {"}},
			"crowded-peers", "descriptors in use", 0},
		{"one read for all subscriptions of a game", []sourceEdit{
			{"services/internal/face/gamelink/poll.go", "if c.polls.handled[e.Name] >= e.Sequence && e.Sequence > 0 {", "if false {"},
			{"services/internal/face/gamelink/pollreads.go", "c.server.reads.do(", "newPollReads().do("}},
			"prefix-subscriptions", "acclaim_gamelink_poll_reads_total", 0},
		{"the share of members' addresses", []sourceEdit{{peerAdmission, "members > 0 {", "members < 0 {"}},
			"crowded-peers", "a member that starts", 0},
		{"certificates of members", []sourceEdit{{"services/internal/cluster/peer/identity.go", "|| !accept(digestOf(state.PeerCertificates[0].Raw)) {", "{"}},
			"crowded-peers", "of no member is answered", 0},
		{"published keys through a proxy", []sourceEdit{{credentials, "if c.sampleKey && remote {", "if false {"}}, "sample-key", "published key", 0},
	}
}

// signInDefences are those of sign-ins, and of what they and links give.
func signInDefences() []defenceCase {
	const (
		viewerFile  = "services/internal/operation/viewer.go"
		accessFile  = "services/internal/operation/access.go"
		pairingFile = "services/internal/operation/pairing.go"
		flowFile    = "services/internal/signin/signin.go"
		sharedRates = "services/internal/limit/ledger.go"
	)
	shares := sourceEdit{"services/internal/operation/quota.go", "if kind.IsSharedByAddresses() {", "if false {"}
	ofAddress := []sourceEdit{{contractGames, "PINsPerSecond  = 1 ", "PINsPerSecond  = 1 << 20 "}, {contractGames, "PINsAtOnce     = 20", "PINsAtOnce     = 1 << 20"},
		{pairingFile, "PerSecond: 50, Burst: 500", "PerSecond: 1e9, Burst: 1 << 30"}}
	return []defenceCase{
		{"sign-ins of an address", ofAddress, "sign-ins", "ask the issuer", 0},
		{"a share of each address, of beginning staff", []sourceEdit{{sharedRates, " || k == SignIns", ""}}, "sign-ins", "staff cannot sign in beside many addresses that begin", 0},
		{"a share of each address, of returning staff", []sourceEdit{{sharedRates, " || k == StaffReturns", ""}}, "sign-ins", "staff cannot sign in beside many addresses that return", 0},
		{"a share of each address, of beginning viewers", []sourceEdit{{sharedRates, " || k == ViewerSignIns", ""}}, "sign-ins", "viewers cannot sign in beside many addresses that begin", 0},
		{"a share of each address, of returning viewers", []sourceEdit{{sharedRates, " || k == ViewerReturns", ""}}, "sign-ins", "viewers cannot sign in beside many addresses that return", 0},
		{"a share of each address, of terminals", []sourceEdit{shares}, "terminals", "staff cannot sign in at a terminal", 0},
		{"sign-ins of an address, at terminals", ofAddress, "terminals", "ask the issuer", 0},
		{"the rules that make people staff, at terminals", []sourceEdit{{"services/internal/operation/signin.go", `if rule.Value != "" && !claims.Has(rule.Claim, rule.Value) || `, "if "}}, "terminals", "a person without a rule", 0},
		{"a share of each address, of devices", []sourceEdit{shares}, "devices", "a new device of another channel", 0},
		{"sessions are for own pages", []sourceEdit{{"services/internal/face/httpapi/session.go", `if r.Header.Get("Sec-Fetch-Site") != "same-origin" {`, "if false {"}},
			"forged-sessions", "from cross-site", 0},
		{"the state and the nonce of a sign-in", []sourceEdit{
			{flowFile, "[]byte(flow.State)) != 1 {", "[]byte(flow.State)) == 2 {"}, {flowFile, "[]byte(flow.Nonce)) != 1 {", "[]byte(flow.Nonce)) == 2 {"}}, "forged-sessions", "follows another's link", 0},
		{"the viewers' cookie is for own pages", []sourceEdit{{"services/internal/face/httpapi/viewersession.go", ` || r.Header.Get("Sec-Fetch-Site") != "same-origin" {`, " {"}},
			"forged-viewers", "with the cookie of another site", 0},
		{"the audience of an issuer's token", []sourceEdit{{"services/internal/signin/viewers.go", "ClientID: audience, ", "SkipClientIDCheck: true, "}}, "forged-viewers", "the client of staff", 0},
		{"the channels of an issuer", []sourceEdit{{viewerFile, "if !slices.Contains(trusted.Channels, channel) {", `if slices.Contains(trusted.Channels, "") {`}}, "forged-viewers", "another channel", 0},
		{"a revoked key is not in force", []sourceEdit{{"services/pairing/staff.go", `return revokeKey[StaffKey](ctx, s, c.staff(), id, "No such staff key")`, "return nil"}}, "staff-keys", "a revoked key", 0},
		{"the scopes of a staff key", []sourceEdit{{accessFile, "slices.ContainsFunc(a.scopes, c.hasScope)", "len(a.scopes) > 0 && len(c.Scopes) > 0"}}, "staff-keys", "a key for polls", 0},
		{"the poll of a device", []sourceEdit{{accessFile, "return c.Poll == poll", "return true"}}, "devices", "a device: GET /v1/vote?id=others", 0},
		{"the polls of an overlay key", []sourceEdit{{accessFile, "return c.Key.Shows(poll)\n", "return true\n"}}, "links", "an overlay: GET /v1/vote", 0},
		{"PINs that a channel tries", []sourceEdit{{pairingFile, "if err := s.takeRate(c.Caller.who(), guesses); err != nil {", "_ = guesses\n\tif err := s.takeRate(c.Caller.who()); err != nil {"}},
			"links", "guesses more than 40 PINs", 0},
	}
}

// rigDefences are those of `acclaim rig`.
func rigDefences() []defenceCase {
	const (
		rigFile     = "services/internal/face/rig/rig.go"
		filesFile   = "services/internal/face/rig/files.go"
		rigCommand  = "services/internal/process/cli/rig.go"
		archiveFile = "services/internal/process/cli/rigfiles.go"
	)
	return []defenceCase{
		{"names of this machine", []sourceEdit{{rigFile, `http.Error(w, "the rig is at http://"+r.page+"/", http.StatusMisdirectedRequest)`, "page.ServeHTTP(w, q)"}}, "rig", "a foreign name", 0},
		{"tokens are for the rig's page", []sourceEdit{{rigFile, "return http.NewCrossOriginProtection().Handler(mux)", "return mux"}}, "rig", "a page of another origin", 0},
		{"links out of the extension's folder", []sourceEdit{{archiveFile, "return root.FS(), root, nil", "return os.DirFS(name), root, nil"}}, "rig", "a file beside the extension", 0},
		{"connections of the rig", []sourceEdit{{rigCommand, "maxRigConnections = 256", "maxRigConnections = 1 << 20"}}, "rig", "descriptors in use", 0},
		{"files of an extension are not held in memory", []sourceEdit{{filesFile, `isPage := ext == ".html" || ext == ".htm"`, "isPage := ext != `.x`"}, {filesFile, "maxPage = 1 << 20", "maxPage = 64 << 20"}},
			"rig-archive", "MiB resident", 0},
		{"the size of an extension's file", []sourceEdit{{filesFile, "maxFile = 64 << 20", "maxFile = 1 << 40"}}, "rig-archive", "/bomb.js", 0},
	}
}

// pictureDefences are those of pictures.
func pictureDefences() []defenceCase {
	const operations, limits = "services/internal/operation/pictures.go", "api/contract/pictures.go"
	return []defenceCase{
		{"pictures are measured before they are decoded", []sourceEdit{{"services/picture/image.go", "if size.Width > contract.MaxPictureSide || size.Height > contract.MaxPictureSide {", "if size.Width < 0 {"}},
			"picture-uploads", "is decoded", 2 * time.Second},
		{"uploads of a channel", []sourceEdit{{limits, "PicturesAtOnce    = 128", "PicturesAtOnce = 1 << 20"}}, "picture-uploads", "more than 160 pictures", 0},
		{"unknown pictures of an address", []sourceEdit{{operations, "if !s.pictures.known.Contains(document) {", "if false {"}}, "picture-names", "unknown pictures", 0},
	}
}

// apiDefences are those of the API.
func apiDefences() []defenceCase {
	addresses := sourceEdit{resourcesFile, "l.perAddress = min(max(l.connections/8, 1), maxPerAddress)", "l.perAddress = 1 << 40"}
	all := sourceEdit{resourcesFile, "clients := memory / connectionBytes", "clients := memory/connectionBytes + 1<<20"}
	identity := sourceEdit{contractLimits, "MaxViewerSubscribers = 8", "MaxViewerSubscribers = 1 << 30"}
	quotas := []sourceEdit{
		{limitsFile, "limit.Per(contract.DefaultIdentityStreams,", "limit.Per(1 << 30,"},
		{limitsFile, "limit.Per(contract.DefaultIdentityBytes,", "limit.Per(1 << 40,"},
	}
	return []defenceCase{
		{"connections of an address", []sourceEdit{addresses}, "idle-connections", "victims", 0},
		{"connections in all", []sourceEdit{addresses, all}, "idle-connections", "descriptors in use", 0},
		{"the end of a subscriber is noticed", []sourceEdit{addresses, identity,
			{"services/internal/face/httpapi/events.go", "_, _ = conn.Read(make([]byte, 1))", "<-make(chan struct{})"}}, "subscriber-flood", "descriptors open", 0},
		{"topics that an identity names", []sourceEdit{identity, {quotaFile, "identitySources          = 128", "identitySources = 1 << 30"},
			{resourcesFile, "memory / sourceBytes", "1 << 30"}}, "topic-flood", "attack: ", 0},
		{"long answers at a time", []sourceEdit{{budgetsFile, "maxPages       = 32", "maxPages = 1 << 30"},
			{budgetsFile, "extensionPages = 16", "extensionPages = 1 << 30"}, {budgetsFile, "identityPages  = 4", "identityPages = 1 << 30"}},
			"slow-readers", "take", 0},
		{"bodies are read as they arrive", []sourceEdit{addresses, {contractLimits, "MaxPublicBody  = 32 << 10", "MaxPublicBody = 256 << 10"},
			{bodyFile, "size := min(max(2*old, firstBodyBytes), most)", "size := most"},
			{bodyFile, "if err := b.leases.ForBuffer(size).Take(int64(size)); err != nil {", "if err := b.leases.ForBuffer(size).Take(0); err != nil {"}}, "h2-announced-bodies", "take", 0},
		{"one spelling of a credential", []sourceEdit{
			{credentials, "credentialDigest [sha256.Size]byte", "credentialDigest string\n\nconst _ = sha256.Size"},
			{credentials, "found.digest = sha256.Sum256([]byte(header))", "found.digest = credentialDigest(header)"},
			{credentials, "if len(header) > contract.MaxCredential {", "if len(header) > 1<<20 {"},
			{credentials, "return refused == 0 &&", "return refused <= 1 &&"},
			{"services/internal/operation/token.go", "base64.RawURLEncoding.Strict()", "base64.RawURLEncoding"}}, "credential-spellings", "live heap", 0},
		{"tokens of the sandbox", []sourceEdit{{sandboxFile, "PerSecond: 50, Burst: 2_000", "PerSecond: 1e9, Burst: 1 << 30"},
			{sandboxFile, "PerSecond: 2_000, Burst: 20_000", "PerSecond: 1e9, Burst: 1 << 30"}}, "sandbox-tokens", "take", 0},
		{"bytes that an identity stores", quotas, "invented-buffers", "stored", 10 * time.Second},
		{"patches are charged for what they allocate, and wait for each other", []sourceEdit{
			{"services/internal/engine/document/value.go", "*budget -= objectWeight + min(len(value), 1)*membersWeight + max(len(value)-8, 0)*memberWeight; *budget < 0", "false"},
			{"services/internal/engine/document/evaluation.go", "max(1, runtime.GOMAXPROCS(0)/4)", "runtime.GOMAXPROCS(0) << 10"}},
			"patch-bombs", "take", 0},
		{"other connections go first", []sourceEdit{{"services/internal/process/app/connections.go", "runtime.Gosched()\n\treturn c.Conn.Read(p)", "return c.Conn.Read(p)"},
			{"services/internal/face/httpapi/resets.go", "turn: make(chan struct{}, 1)", "turn: make(chan struct{}, 1<<10)"}}, "h2-resets", "take", 0},
		{"states in memory", slices.Concat(quotas, []sourceEdit{{resourcesFile, "min(memory*2/5/residentDomains, maxResident)", "1 << 40"}}),
			"invented-buffers", "resident", 40 * time.Second},
	}
}
