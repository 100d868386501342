package main

import (
	"context"
	"slices"
	"time"
)

// attackCase is one row of the table.
type attackCase struct {
	name string
	what string
	run  func(ctx context.Context, a *attacker)
	// sinks gives the victims' extension a webhook and the platform's pub/sub, and
	// another extension webhooks that hang.
	sinks bool
	// issuer lets people sign in to the victims' extension at an issuer of this machine.
	issuer bool
	// buildUp is the time from the beginning of the attack until the victims begin.
	buildUp time.Duration
	// growth limits by how many bytes the live heap may have grown ten seconds after an
	// attack that is too short to reach the budget. 0: the budget alone.
	growth int64
	// smallDisk puts the data on a file system of diskSize.
	smallDisk bool
	// settings are further lines of the victims' extension in the registry.
	settings string
	// mayRefuse allows that the victims' writes are refused with 500 or 503 while the attack
	// lasts.
	mayRefuse bool
	// mayTurnAway allows that victims cannot connect while the attack lasts.
	mayTurnAway bool
	// proxy has the program trust the attacker's address as that of a proxy.
	proxy bool
	// members has the program share a database with another process, through which victims
	// vote, too. One more starts during the attack.
	members bool
	// rig writes an extension into a folder and returns its path. The program then runs as
	// acclaim rig, which shows it.
	rig   func(folder string) (path string, err error)
	signs attackSigns
}

// attackCases are all attacks, by what they exhaust or try to get. The names in brackets are
// the findings of the security reviews (S, F) that each repeats.
func attackCases() []attackCase {
	return slices.Concat(signInCases(), terminalCases(), rigCases(), pictureCases(), []attackCase{
		{name: "idle-connections", what: "hold 5,000 connections and send nothing", run: holdIdle},
		{name: "crowd", what: "5,000 connections from 50 addresses, which send nothing", run: holdFromMany, mayTurnAway: true},
		{name: "dropped-connections", what: "open 10,000 connections and drop them", run: dropConnections},
		{name: "slow-heads", what: "3,500 connections send the head of a request, a byte at a time", run: dripHeads},
		{name: "slow-bodies", what: "3,500 connections send a body, a byte at a time", run: dripBodies},
		{name: "slow-readers", what: "600 connections of a streamer ask for pages of 8 MiB and do not read (S18)", run: ignorePages},
		{name: "announced-bodies", what: "2,500 connections without a credential announce 256 KiB and send nothing (S5)", run: announceBodies},
		{name: "h2-announced-bodies", what: "20 HTTP/2 connections with 250 streams do the same (S5)", run: announceStreams},
		{name: "h2-resets", what: "HTTP/2 streams are opened and reset at once", run: resetStreams},
		{name: "subscriber-flood", what: "connect, read the first line of /events, close, with one token, 32 at a time (S6)", run: floodSubscribers},
		{name: "subscriber-hoard", what: "hold 3,500 subscriptions with one token", run: hoardSubscribers},
		{name: "topic-flood", what: "subscriptions of 32 invented topics each, with one token (S6)", run: floodTopics},
		{name: "flood-and-write", what: "hold all descriptors and write, so that the store needs new files (S1)", run: floodAndWrite},
		{name: "credential-spellings", what: "65,536 spellings of 11 KB of one token (S4)", run: spellCredentials, buildUp: 4 * time.Second, growth: 32 << 20,
			signs: attackSigns{outcome: "401", times: 5_000}},
		{name: "sandbox-tokens", what: "ask for 1,000 sandbox tokens at a time, without a credential (S14)", run: askForTokens},
		{name: "invented-polls", what: "one viewer votes in polls that it invents (S3, S7, S8)", run: inventPolls, sinks: true},
		{name: "invented-reads", what: "one viewer reads polls that do not exist (S8)", run: readInvented, growth: 32 << 20},
		{name: "public-names", what: "ask for public results that do not exist, without a credential", run: askForNames, growth: 32 << 20},
		{name: "invented-buffers", what: "one viewer appends 60 KB to buffers that it invents (S8)", run: inventBuffers},
		{name: "patch-bombs", what: "8 viewers send patches of 840 bytes that double a document 20 times (S2)", run: bombPatches},
		{name: "costly-patches", what: "8 viewers send patches that insert 3,000 times before an array of 28,000", run: insertBefore},
		{name: "whispers", what: "a crowd of 64 sends itself messages of 5 KB (S7, S15)", run: floodWhispers, sinks: true},
		{name: "hanging-webhooks", what: "webhooks of another extension hang while its viewer invents polls (S7)", run: feedHangingHooks, sinks: true},
		{name: "viewers-as-games", what: "viewers, moderators and others authenticate as games (F1)", run: enterAsViewer},
		{name: "leaked-key", what: "a refresh token, a PIN and a token outlive the key that was leaked (F2)", run: outliveKey},
		{name: "game-subscriptions", what: "41 games of a broadcaster's empty channel subscribe for 128 polls each (F3)", run: hoardGameSubscriptions},
		{name: "game-messages", what: "400 games without a credential send 2 MiB of a message each (F4)", run: announceMessages},
		{name: "forged-global", what: "the broadcaster of an empty channel changes and reads a poll of all channels (F5)", run: forgeGlobalPoll},
		{name: "invented-pins", what: "30 addresses ask for PINs without a credential (F6)", run: openPINs},
		{name: "game-echo", what: "6 games without a credential have messages of 1.2 MB repeated (F7)", run: echoMessages},
		{name: "refresh-guesses", what: "games guess refresh tokens (F7)", run: guessRefreshTokens},
		{name: "anonymous-drain", what: "100 anonymous viewers of one channel use up the quota of polls (F8)", run: drainAnonymously,
			settings: "  limits: {extensionStreamsPerDay: 2000}\n", buildUp: 3 * time.Second,
			signs: attackSigns{outcome: "drain: 429", times: 1_000}},
		{name: "loud-datastream", what: "40 anonymous viewers use up the channel's rate of /datastream (F8)", run: shoutOnDatastream},
		{name: "server-pins", what: "games with a PIN of a server's token act in all channels (F9)", run: rightsOfPIN},
		{name: "silent-games", what: "2,500 games from 200 addresses never authenticate (F10)", run: holdSilentSockets},
		{name: "crowded-peers", what: "3,500 connections from 250 addresses to the port between processes show no member's certificate (F11)", run: crowdPeers, members: true, buildUp: 4 * time.Second,
			signs: attackSigns{outcome: peerConnection, times: 3_000, metrics: []metricBound{{name: "acclaim_peers_connections_refused_total", least: 2_000}}}},
		{name: "repeated-history", what: "4 viewers ask for the history of 100,000 votes (F12)", run: askThePast, buildUp: 3 * time.Second},
		{name: "loud-broadcaster", what: "the broadcaster of an empty channel configures polls and appends 60 KB to buffers (F13)", run: drainAsBroadcaster,
			settings: "  limits: {identityBytesPerDay: 4194304}\n",
			signs:    attackSigns{outcome: "429", times: 1_000}},
		{name: "sandbox-store", what: "1,000 identities of the sandbox append 60 KB to buffers (F14)", run: fillSandbox, buildUp: 8 * time.Second,
			settings: "  limits: {extensionBytesPerDay: 536870912}\n"},
		{name: "sample-key", what: "the published key is used through a proxy of the same machine (F15)", run: useSampleKey},
		{name: "forged-clients", what: "each request through a trusted proxy names another client (F16)", run: forgeClients, proxy: true,
			signs: attackSigns{outcome: namedClient, times: 6_000, warning: "trusted proxies name thousands of clients", metrics: []metricBound{{name: "acclaim_proxy_clients", least: 4_096}}}},
		{name: "buried-purchase", what: "400 purchases follow one that no game has seen (F17)", run: buryPurchase, buildUp: 2 * time.Second},
		{name: "prefix-subscriptions", what: "20 games subscribe for 128 prefixes of one id that gets 20 votes a second (F18)", run: watchPrefixes,
			signs: attackSigns{outcome: "POST: 200", times: 40, metrics: []metricBound{{name: "acclaim_gamelink_poll_reads_total", least: 4, mostEach: 2}}}},
		{name: "full-disk", what: "the disk is full", run: fillDisk, smallDisk: true, mayRefuse: true},
	})
}
