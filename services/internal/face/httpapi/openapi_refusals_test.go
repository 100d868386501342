package httpapi_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/services/voting"
)

// probe is a request that is refused, or answered in a way that the examples of
// the document do not show.
type probe struct {
	on   string // operations: a regular expression for the whole of "METHOD /path"
	path string // in place of the operation's
	// elsewhere is a whole path, and find makes what the request needs and returns one.
	elsewhere string
	find      func(t *testing.T, a *api) string
	query     string
	body      string
	status    int
	reason    string
	// as is the sender, a validated admin unless set.
	as identity
	// match is the If-Match header.
	match string
	// noneMatch is the If-None-Match header.
	noneMatch string
	// cookie is the Cookie header.
	cookie string
	// prepare makes what the request needs and returns its body, where body is empty.
	prepare func(t *testing.T, a *api) string
	// ask makes what the request needs and returns its query.
	ask func(t *testing.T, a *api) string
	// key is the Idempotency-Key header, if it is not empty, and used a body that had the key
	// before.
	key, used string
	// config is the configuration of the poll "default", saved before.
	config string
	// foreign reports that a page of another server sends the request.
	foreign bool
	// late reports that a device sends the request, after the poll "default" was deleted.
	late bool
	// truncated reports that the log of the poll "default" has lost its beginning.
	truncated bool
}

const (
	withID    = `(GET|POST|DELETE) /(receipt|vote|votes|vote_logs|vote_history|vote_modifier|accumulate|rank)|GET /(vote_config|poll)|(GET|POST) /rank_config|POST /rank_moderation`
	documents = `/(channel_state|extension_state|extension_hidden_state|viewer_state|extension_viewer_state|config/channel|config/extension|channel_config|extension_config)`
	withBody  = `(POST|PATCH) .*`
	keyed     = `POST /(vote|votes|vote_modifier|accumulate|rank)|PATCH ` + documents
	messages  = `POST /(broadcast|extension_broadcast|broadcast_extension|whisper_self)`
)

const deviceBody = `{"client":"ext","channel":"77","poll":"default"}`

func probes() []probe {
	long := strings.Repeat("x", 70<<10)
	deep := strings.Repeat(`{"x":`, 6000) + "{}" + strings.Repeat("}", 6000)
	copies := strings.Repeat(`,{"op":"copy","from":"/a","path":"/b"}`, 70)
	var ids []string
	for i := range 1001 {
		ids = append(ids, fmt.Sprintf("%d", i))
	}
	return []probe{
		{on: withID, query: "?id=" + long[:257], body: `{"value":1,"user":"U5","add":1,"key":"k","votes":[{}]}`, status: 400, reason: "Invalid id"},
		{on: withBody, body: strings.Repeat(long, 60), status: 413, reason: "The body is larger than {limit} bytes"},

		{on: "POST /(vote|votes|vote_modifier|vote_config|rank|rank_config|rank_moderation|authtoken)", body: "{", status: 400, reason: "Invalid body"},
		{on: "POST /vote", body: `{"value":129}`, status: 400, reason: "Value out of bounds"},
		{on: "POST /vote", body: `{"count":31}`, status: 400, reason: "Count out of bounds"},
		{on: "POST /vote", config: `{"disabled":true}`, body: `{}`, status: 400, reason: "poll is closed"},
		{on: "POST /vote", config: `{"strict":true,"options":["a","b"]}`, body: `{"value":2}`, status: 400, reason: "value names no option of the poll"},
		{on: "POST /vote", config: `{"strict":true,"options":["a","b"]}`, body: `{"option":1}`, status: 400, reason: "value is missing"},
		{on: "POST /vote", config: `{"loggedInOnly":true}`, body: `{}`, as: stranger(), status: 400, reason: "only logged-in viewers may vote"},
		{on: "POST /vote", config: `{"userIDVoting":true}`, body: `{}`, as: stranger(), status: 400, reason: "unacceptable vote"},
		{on: keyed, body: keyedBody, key: "\x7f", status: 400, reason: "Idempotency-Key must have 1 to {number} printable bytes"},
		{on: messages, body: `{"event":"e","data":1}`, key: "\x7f", status: 400, reason: "Idempotency-Key must have 1 to {number} printable bytes"},
		{on: keyed, body: keyedBody, key: "k", used: " " + keyedBody, status: 422, reason: "The Idempotency-Key was used for another request"},
		{on: messages, body: `{"event":"e","data":1}`, key: "k", used: `{"event":"e","data":2}`, status: 422, reason: "The Idempotency-Key was used for another request"},
		{on: "POST /votes", body: `{"votes":[{"user_id":"1","key":"a"}]}`, key: "k", status: 400, reason: "votes must have no keys beside an Idempotency-Key"},
		{on: "POST /votes", body: `{"votes":[]}`, status: 400, reason: "votes must have 1 to {number} elements"},
		{on: "POST /vote", late: true, body: "{}", status: 404, reason: "No such poll for devices"},
		{on: "GET /vote", late: true, status: 404, reason: "No such poll for devices"},
		{on: "POST /devices", body: `{"client":1}`, status: 400, reason: "Invalid body"},
		{on: "POST /devices", config: `{"deviceVoting":true,"disabled":true}`, body: deviceBody, status: 400, reason: "poll is closed"},
		{on: "POST /devices", config: `{"deviceVoting":true}`, body: deviceBody, status: 200},
		{on: "POST /devices", body: deviceBody, status: 404, reason: "No such poll for devices"},
		{on: "POST /devices", body: deviceBody, foreign: true, status: 403, reason: "A page of another server may not ask for the credential of a device"},
		{on: "GET /vote", query: "?at=0", status: 400, reason: "Malformed at parameter"},
		{on: "GET /vote", query: "?at=9", status: 200},
		{on: "GET /vote", query: "?at=9", truncated: true, status: 404, reason: "The log begins at {seconds}"},
		{on: "GET /vote_history", query: "?from=x", status: 400, reason: "Malformed from parameter"},
		{on: "GET /vote_history", query: "?to=-1", status: 400, reason: "Malformed to parameter"},
		{on: "GET /vote_history", query: "?step=0", status: 400, reason: "Malformed step parameter"},
		{on: "GET /vote_history", query: "?from=7&to=6", status: 400, reason: "from must not be after to"},
		{on: "GET /vote_history", query: "?from=7&step=1", status: 400, reason: "A history must have at most {number} points"},
		{on: "GET /vote_history", truncated: true, status: 200},
		{on: "GET /vote_history", config: `{"resultsVisibility":"staff"}`, as: viewer(), status: 200},
		{on: "GET /vote_logs", query: "?limit=0", status: 400, reason: "Malformed limit parameter"},
		{on: "GET /vote_logs", query: "?after=x", status: 400, reason: "Malformed after parameter"},
		{on: "GET /vote_logs", query: "?configs=yes", status: 400, reason: "Malformed configs parameter"},
		{on: "GET /vote_logs", query: "?configs=true", config: `{"strict":true,"prompt":"?"}`, status: 200},
		{on: "GET /vote_config", status: 404},
		{on: "GET /poll", status: 404, reason: "The poll has no configuration"},
		{on: "GET /poll", config: "{}", noneMatch: "*", status: 304},
		{on: "GET /polls", query: "?limit=0", status: 400, reason: "Malformed limit parameter"},
		{on: "GET /polls", query: "?limit=1001", status: 400, reason: "Malformed limit parameter"},
		{on: "GET /polls", query: "?status=open", status: 400, reason: "Malformed status parameter"},
		{on: "GET /polls", query: "?cursor=eA", status: 400, reason: "Malformed cursor parameter"},
		{on: "GET /polls", query: "?channel=other", as: listed(), status: 200},
		{on: "GET /polls", query: "?channel=other", as: admin(), status: 403, reason: "The JWT role is not allowed to perform this operation."},

		{on: "(POST|PATCH) /vote_config", query: "?id=other", body: `{"config":{}}`, status: 400, reason: "id belongs in the body"},
		{on: "PATCH /rank_config", query: "?id=other", body: `{"config":{}}`, status: 400, reason: "id belongs in the body"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn(long[:65], `{}`), status: 400, reason: "id must be at most 64 characters"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a.b", `{}`), status: 400, reason: "id must not contain '.'"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"global":true}`), status: 400, reason: "id of a global poll must begin with 'global'"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"distinctOptionsPerUser":259}`), status: 400, reason: "distinctOptionsPerUser must be between 1 and 258"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"totalVotesPerUser":0}`), status: 400, reason: "totalVotesPerUser must be between 1 and 1024"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"votesPerOption":0}`), status: 400, reason: "votesPerOption must be greater than 0"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"prompt":"`+long[:257]+`"}`), status: 400, reason: "prompt must be at most 256 bytes"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"options":[""`+strings.Repeat(`,""`, 32)+`]}`), status: 400, reason: "options must have at most 32 entries"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"options":["`+long[:129]+`"]}`), status: 400, reason: "each of options must be at most 128 bytes"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"userData":"`+long[:1023]+`"}`), status: 400, reason: "userData must be at most 1024 bytes"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"startsAt":-1}`), status: 400, reason: "startsAt must not be negative"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"strict":true,"options":[" "]}`), status: 400, reason: "options of a strict poll must not be empty"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"strict":true,"options":["a","a"]}`), status: 400, reason: "options of a strict poll must differ from each other"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"strict":true,"startsAt":4133980800}`), status: 400, reason: "startsAt of a strict poll must be in seconds and not after the year 2100"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"strict":true,"endsAt":4133980800}`), status: 400, reason: "endsAt of a strict poll must be in seconds and not after the year 2100"},
		{on: "(POST|PATCH) /vote_config", prepare: withVotes(`{"config":{"strict":true,"prompt":"Sell it?","options":["a","b"]}}`), status: 409, reason: "The poll has votes: prompt changes only with keepVotes or after the votes are deleted"},
		{on: "(POST|PATCH) /vote_config", prepare: withVotes(`{"config":{"strict":true,"prompt":"Keep it?","options":["b","a"]}}`), status: 409, reason: "The poll has votes: options change, other than by new ones at the end, only with keepVotes or after the votes are deleted"},
		{on: "(POST|PATCH) /vote_config", prepare: withVotes(`{"config":{"prompt":"Sell it?"},"keepVotes":true}`), status: 200},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"resultsVisibility":"never"}`), status: 400, reason: "resultsVisibility must be always, afterVote, afterClose or staff"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"startsAt":2,"endsAt":1}`), status: 400, reason: "startsAt must not be after endsAt"},

		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"deviceVoting":true,"weightedVotes":true}`), status: 400, reason: "weightedVotes needs a poll without deviceVoting, and all processes of one release"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"deviceVoting":true,"verifiable":true}`), status: 400, reason: "deviceVoting needs a poll of one channel without userIDVoting, loggedInOnly and verifiable, and all processes of one release"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"tieBreak":0}`), status: 400, reason: "tieBreak needs a poll that has ended, with results that viewers see, and all processes of one release"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"endsAt":-1,"tieBreak":0}`), status: 400, reason: "tieBreak must be one of the options that lead with equal votes"},

		{on: "POST /vote_config", body: `{"config":{"endsAt":"x"}}`, status: 400, reason: "Invalid body"},
		{on: "PATCH /vote_config", body: `{"config":{"endsAt":"x"}}`, status: 400, reason: "Invalid body: {member} must be {type}"},
		{on: "PATCH /(vote|rank)_config", body: `{"config":{"optoins":[]}}`, status: 400, reason: "Invalid body: {member} is unknown"},
		{on: "PATCH /(vote|rank)_config", body: `{`, status: 400, reason: "Invalid body"},
		{on: "PATCH /vote_config", body: `{"config":{}}`, status: 404, reason: "The poll has neither a configuration nor votes"},
		{on: "PATCH /vote_config", body: `{"config":{},"clearVotes":true}`, status: 404, reason: "The poll has no configuration"},
		{on: "PATCH /vote_config", body: `{"config":{}}`, config: `{}`, status: 200},
		{on: "(POST|PATCH) /vote_config", body: `{"config":{}}`, config: `{}`, match: `"1"`, status: 412, reason: "The configuration is not the one that If-Match names"},
		{on: "PATCH /vote_config", body: `{"config":{}}`, config: `{}`, key: "\x7f", status: 400, reason: "Idempotency-Key must have 1 to {number} printable bytes"},
		{on: "PATCH /vote_config", body: `{"config":{}}`, config: `{}`, key: "k", used: ` {"config":{}}`, status: 422, reason: "The Idempotency-Key was used for another request"},

		{on: "POST /vote", config: `{"verifiable":true}`, body: `{"version":1,"nonceHash":"AAECAwQFBgcICQoLDA0ODw=="}`, status: 412, reason: "configuration changed"},
		{on: "POST /vote", config: `{"verifiable":true}`, body: `{"nonceHash":"AAECAwQFBgcICQoLDA0ODw=="}`, status: 200},
		{on: "POST /vote_modifier", prepare: closedList, body: keyedBody, status: 400, reason: "poll is closed"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"verifiable":true}`), status: 409, reason: "The poll has votes: verifiable and userIDVoting change only after they are deleted"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"verifiable":true,"resultsVisibility":"staff"}`), status: 400, reason: "a verifiable poll must not hide its results from viewers for good"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"verifiable":true,"resultsVisibility":"afterVote"}`), status: 400, reason: "a verifiable poll that hides its results must have showCount"},
		{on: "POST /vote_config", as: identity{role: "broadcaster", opaque: "U77", user: "77", key: sandboxKey}, elsewhere: "/sandbox/v1/vote_config", body: `{"config":{"verifiable":true}}`, status: 400, reason: "verifiable polls need production, a key for the log of results, and all processes of one release"},
		{on: "PATCH /vote_config", as: identity{role: "broadcaster", opaque: "U77", user: "77", key: sandboxKey}, elsewhere: "/sandbox/v1/vote_config", prepare: askedInSandbox, status: 400, reason: "verifiable polls need production, a key for the log of results, and all processes of one release"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"minVoters":1}`), status: 400, reason: "entries, minVoters, keepDays and noReceipts need verifiable"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"verifiable":true,"entries":"later"}`), status: 400, reason: "entries must be close, live or never"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"verifiable":true,"entries":"live","resultsVisibility":"afterClose","showCount":true}`), status: 400, reason: "entries must not be live in a poll that hides its results"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"verifiable":true,"minVoters":1000001}`), status: 400, reason: "minVoters must be between 1 and 1000000"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"verifiable":true,"keepDays":366}`), status: 400, reason: "keepDays must be between 1 and 365"},
		{on: "(POST|PATCH) /vote_config", prepare: promised, status: 409, reason: "The poll has votes: entries, minVoters, keepDays and noReceipts change only after they are deleted"},
		{on: "POST /vote", config: `{"verifiable":true,"noReceipts":true}`, body: `{"nonceHash":"AAECAwQFBgcICQoLDA0ODw=="}`, status: 400, reason: "The poll gives no receipts: a vote must have no nonceHash"},
		{on: "GET /receipt", config: `{"verifiable":true,"noReceipts":true}`, as: viewer(), status: 404, reason: "The poll gives no receipts"},
		{on: "GET /receipt", config: `{"verifiable":true}`, as: viewer(), status: 404, reason: "The caller has no vote in the list"},
		{on: "GET /receipt", ask: listedVote, as: viewer(), status: 200},
		{on: "GET /receipt", ask: newVote, as: viewer(), status: 404, reason: "The vote is not in the signed list yet"},
		{on: "GET /log/.*", path: "/log/checkpoint", noneMatch: "*", status: 304},
		{on: "GET /log/.*", path: "/log/checkpoint", query: "?x", status: 400, reason: "A file of the log has no query"},
		{on: "GET /log/.*", path: "/log/tile/0/7", status: 404, reason: "No such file"},
		{on: "GET /log/.*", path: "/log/t/000102030405060708090a0b0c0d0e0f/checkpoint", status: 404, reason: "The log has no such leaf"},
		{on: "GET /log/.*", find: listFile("tile/entries/000.p/3"), status: 404, reason: "The entries are withheld"},
		{on: "GET /log/.*", find: listFile("ballots/5/4"), status: 404, reason: "No such entries"},

		{on: "GET /public/.*/result.json", prepare: publicPoll, path: "/public/ext/77/open/result.json", status: 200},
		{on: "GET /public/.*/result.json", prepare: publicPoll, path: "/public/ext/77/open/result.json", noneMatch: "*", status: 304},
		{on: "GET /public/.*/result.json", prepare: publicPoll, path: "/public/ext/77/open/result.json", query: "?x", status: 400, reason: "A public result has no query"},
		{on: "GET /public/.*/result.json", status: 404, reason: "No such public result"},

		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"pictures":["","AAAAAAAAAAAAAAAAAAAAAA"]}`), status: 400, reason: "pictures needs a poll of one channel, no more entries than options has, and all processes of one release"},
		{on: "(POST|PATCH) /vote_config", prepare: votedIn("a", `{"options":["b"],"pictures":["https://elsewhere.example/p.png"]}`), status: 400, reason: "each of pictures must be the id of a picture or empty"},
		{on: "POST /pictures", body: `{"data":"<svg>"}`, status: 400, reason: "Invalid body"},
		{on: "POST /pictures", body: `{"data":"PHN2Zz4="}`, status: 400, reason: "The picture is neither PNG nor WebP"},
		{on: "POST /pictures", prepare: pictureOf(257, 1), status: 400, reason: "The picture must have at most {number} x {number} pixels"},
		{on: "POST /pictures", body: `{"data":"iVBORw0KGgo="}`, status: 400, reason: "The picture is damaged or animated"},
		{on: "POST /pictures", prepare: manyPictures, status: 400, reason: "A channel has at most {number} pictures"},
		{on: "POST /pictures", body: `{"data":"` + strings.Repeat("AAAA", 22_000) + `"}`, status: 413, reason: "data is larger than {limit} bytes"},
		{on: "DELETE /pictures", ask: shownPicture, status: 200},
		{on: "GET /public/.*/picture.png", find: addressOfPicture, status: 200},
		{on: "GET /public/.*/picture.png", find: addressOfPicture, noneMatch: "*", status: 304},
		{on: "GET /public/.*/picture.png", path: "/public/ext/77/AAAAAAAAAAAAAAAAAAAAAA/picture.png", query: "?x", status: 400, reason: "A picture has no query"},
		{on: "GET /public/.*/picture.png", status: 404, reason: "No such picture"},

		{on: "POST /accumulate", body: "[]", status: 400, reason: "Malformed json body"},
		{on: "POST /accumulate", body: `{"a":"` + long + `"}`, status: 413, reason: "The entry is larger than {limit} bytes"},
		{on: "GET /accumulate", query: "?start=x", status: 400, reason: "Malformed start parameter"},

		{on: "GET /rank", query: "?limit=10001", status: 400, reason: "Malformed limit parameter"},
		{on: "POST /rank", body: `{"key":""}`, status: 400, reason: "key must not be empty"},
		{on: "POST /rank", body: `{"key":"k"}`, as: identity{role: "viewer"}, status: 400, reason: "The JWT names no viewer"},
		{on: "POST /rank", body: `{"key":"` + long[:257] + `"}`, status: 200},

		{on: "GET /rank", query: "?state=shown", status: 400, reason: "Malformed state parameter"},
		{on: "GET /rank", query: "?state=held", status: 200},
		{on: "GET /rank_config", status: 404, reason: "The question has no configuration"},
		{on: "POST /rank_config", body: `{"normalization":"nfc"}`, status: 400, reason: "normalization must be none or nfkc"},
		{on: "PATCH /rank_config", prepare: asked(`{"normalization":"nfc"}`), status: 400, reason: "normalization must be none or nfkc"},
		{on: "POST /rank_config", body: `{"minLength":9,"maxLength":8}`, status: 400, reason: "minLength and maxLength must be between 1 and 256, the first not above the second"},
		{on: "PATCH /rank_config", prepare: asked(`{"minLength":9,"maxLength":8}`), status: 400, reason: "minLength and maxLength must be between 1 and 256, the first not above the second"},
		{on: "POST /rank_config", body: `{"blocked":["a"` + strings.Repeat(`,"a"`, 100) + `]}`, status: 400, reason: "blocked must have at most 100 entries"},
		{on: "PATCH /rank_config", prepare: asked(`{"blocked":["a"` + strings.Repeat(`,"a"`, 100) + `]}`), status: 400, reason: "blocked must have at most 100 entries"},
		{on: "POST /rank_config", body: `{"blocked":["*-*"]}`, status: 400, reason: "each of blocked must have a letter or digit and at most 64 bytes"},
		{on: "PATCH /rank_config", prepare: asked(`{"blocked":["*-*"]}`), status: 400, reason: "each of blocked must have a letter or digit and at most 64 bytes"},
		{on: "POST /rank_config", body: `{"answersPerViewer":11}`, status: 400, reason: "answersPerViewer must be between 1 and 10"},
		{on: "PATCH /rank_config", prepare: asked(`{"answersPerViewer":11}`), status: 400, reason: "answersPerViewer must be between 1 and 10"},
		{on: "POST /rank_config", body: `{"startsAt":-1}`, status: 400, reason: "startsAt must not be negative"},
		{on: "PATCH /rank_config", prepare: asked(`{"startsAt":-1}`), status: 400, reason: "startsAt must not be negative"},
		{on: "POST /rank_config", body: `{"startsAt":2,"endsAt":1}`, status: 400, reason: "startsAt must not be after endsAt"},
		{on: "PATCH /rank_config", prepare: asked(`{"startsAt":2,"endsAt":1}`), status: 400, reason: "startsAt must not be after endsAt"},
		{on: "POST /rank_config", body: `{"endsAt":"x"}`, status: 400, reason: "Invalid body: {member} must be {type}"},
		{on: "PATCH /rank_config", body: `{"config":{"blocked":[1]}}`, status: 400, reason: "Invalid body: {member} must be {type}"},
		{on: "PATCH /rank_config", body: `{"id":"` + long[:257] + `","config":{}}`, status: 400, reason: "Invalid id"},
		{on: "PATCH /rank_config", body: `{"config":{}}`, status: 404, reason: "The question has neither a configuration nor answers"},
		{on: "PATCH /rank_config", prepare: asked(`{}`), status: 200},
		{on: "(POST|PATCH) /rank_config", prepare: asked(`{}`), match: `"x"`, status: 412, reason: "The configuration is not the one that If-Match names"},
		{on: "PATCH /rank_config", prepare: asked(`{}`), key: "\x7f", status: 400, reason: "Idempotency-Key must have 1 to {number} printable bytes"},
		{on: "PATCH /rank_config", prepare: asked(`{}`), key: "k", used: ` {"config":{}}`, status: 422, reason: "The Idempotency-Key was used for another request"},
		{on: "POST /rank_moderation", body: `{"key":"a"}`, status: 400, reason: "action must be show, hide or merge"},
		{on: "POST /rank_moderation", body: `{"key":"a","action":"show","into":"b"}`, status: 400, reason: "into goes with merge"},
		{on: "POST /rank_moderation", body: `{"action":"show"}`, status: 400, reason: "key and into must have 1 to {number} bytes"},
		{on: "POST /rank_moderation", body: `{"action":"merge","key":"a","into":"a"}`, status: 400, reason: "An answer cannot be merged with itself"},
		{on: "POST /rank_moderation", prepare: manyDecisions, status: 400, reason: "A question has at most {number} moderated answers"},

		{on: "(POST|PATCH) " + documents, body: "{", status: 400, reason: "Malformed json body"},
		{on: "(POST|PATCH) " + documents, body: `{"a":"` + long + `"}`, status: 413, reason: "The document would have {size} bytes, the limit is {limit}"},
		{on: "(POST|PATCH) " + documents, body: "{}", match: `"7"`, status: 412, reason: "The document is at version {version}, not {version}"},
		{on: "(POST|PATCH) " + documents, body: "{}", match: `"x"`, status: 412, reason: "If-Match names no version of this document"},
		{on: "(POST|PATCH) /(viewer_state|extension_viewer_state)", body: "{}", as: identity{role: "viewer"}, status: 400, reason: "The JWT names no viewer that this state could belong to"},
		{on: "POST " + documents, body: "[]", status: 400, reason: "The body must be a JSON object"},
		{on: "PATCH " + documents, body: "1", status: 400, reason: "A patch must be an array of JSON Patch operations or a JSON Merge Patch object"},
		{on: "PATCH " + documents, body: `[{"op":"remove","path":"/none"}]`, status: 400, reason: "operation {index} ({op}, path {path}): {problem}"},
		{on: "PATCH " + documents, body: `[{"op":"replace","path":"","value":1}]`, status: 400, reason: "The result of the patch is not a JSON object"},
		{
			on: "PATCH " + documents, status: 400, reason: "The document would be nested too deeply",
			body: `[{"op":"add","path":"/a","value":` + deep + `},{"op":"copy","from":"/a","path":"/a` + strings.Repeat("/x", 6000) + `/y"}]`,
		},
		{
			on: "PATCH " + documents, status: 413, reason: "operation {index} ({op}): the patch copies too much",
			body: `[{"op":"add","path":"/a","value":"` + long + `"}` + copies + `]`,
		},
		{on: "PATCH /extension_viewer_state", body: `{"1":2}`, status: 400, reason: "user {id}: {problem}"},
		{on: "PATCH /extension_viewer_state", body: `{"` + strings.Join(ids, `":{},"`) + `":{}}`, status: 400, reason: "Too many ids specified"},
		{on: "GET /extension_viewer_state", query: "?user_ids=" + strings.Join(ids, ","), status: 400, reason: "Too many ids specified"},
		{on: "GET /extension_viewer_state", query: "?userID=x", status: 400, reason: "Malformed userID parameter"},
		{on: "GET /extension_viewer_state", query: "?user_ids=,", status: 400, reason: "Malformed user_ids parameter"},
		{on: "GET /extension_viewer_state", query: "?userID=1", status: 200},
		{on: "GET /extension_viewer_state", query: "?user_ids=1,2", status: 200},
		{on: "GET /extension_viewer_state", query: "?userID=1", as: viewer(), status: 403, reason: "The JWT role is not allowed to perform this operation."},

		{on: "(GET|POST) /json_store", query: "?id=a:b", body: "{}", status: 400, reason: "Invalid id"},
		{on: "GET /json_store", status: 404, reason: "No data for this id"},
		{on: "POST /json_store", body: "{", status: 400, reason: "Malformed json body"},
		{on: "POST /json_store", body: "[]", status: 400, reason: "The body must be a JSON object"},
		{on: "POST /json_store", body: `{"a":"` + long[:4<<10] + `"}`, status: 413, reason: "The document would have {size} bytes, the limit is {limit}"},
		{on: "GET /user_ids", query: "?cursor=x", status: 400, reason: "Malformed cursor parameter"},
		{on: "POST /(pin|validate_pin|datastream|bits/transactions|coins/purchase)", body: "[]", status: 400, reason: "Invalid body"},
		{on: "POST /pin", body: `{"identifier":"none"}`, status: 400, reason: "No such extension found"},
		{on: "POST /validate_pin", prepare: shownPIN, status: 200},
		{on: "POST /overlay_keys", body: `{"polls":"p"}`, status: 400, reason: "Invalid body"},
		{on: "POST /overlay_keys", body: `{"polls":["a*"]}`, status: 400, reason: "Invalid id"},
		{on: "POST /overlay_keys", body: `{"polls":[]}`, status: 400, reason: "polls must have 1 to {number} ids"},
		{on: "POST /overlay_keys", body: `{"questions":[]}`, status: 400, reason: "questions must have 1 to {number} ids"},
		{on: "POST /overlay_keys", body: `{"name":"` + long[:129] + `"}`, status: 400, reason: "name must be at most {number} bytes"},
		{on: "POST /overlay_keys", body: `{"expires":0}`, status: 400, reason: "expires must be within the next 100 years"},
		{on: "POST /overlay_keys", body: `{"expires":9999999999}`, status: 400, reason: "expires must be within the next 100 years"},
		{on: "POST /overlay_keys", prepare: allOverlays, status: 400, reason: "A channel has at most {number} overlay keys"},
		{on: "GET /overlay_keys", ask: oneOverlay, status: 200},
		{on: "DELETE /overlay_keys", ask: oneOverlay, status: 200},
		{on: "GET /staff/signins", status: 200},
		{on: "GET /staff/signin", query: "?extension=signed", status: 303},
		{on: "GET /staff/signin", query: "?extension=ext", status: 400, reason: "The extension has no sign-in here"},
		{on: "GET /staff/callback", query: "?state=S&code=ada", cookie: flowOfSigned, status: 303},
		{on: "GET /staff/callback", query: "?state=S&code=ada", status: 400, reason: "No sign-in is under way in this browser"},
		{on: "GET /staff/callback", cookie: strings.Replace(flowOfSigned, "extension=signed", "extension=ext", 1), status: 400, reason: "The extension has no sign-in here"},
		{on: "GET /staff/callback", query: "?state=S&code=eve", cookie: flowOfSigned, status: 401, reason: "The sign-in has failed; begin it again"},
		{on: "GET /staff/callback", query: "?state=S&code=mary", cookie: flowOfSigned, status: 403, reason: "This person is not staff of a channel"},
		{on: "POST /staff/device_(signin|session)", body: "[]", status: 400, reason: "Invalid body"},
		{on: "POST /staff/device_(signin|session)", body: terminalOf("none", ""), status: 400, reason: "The extension has no sign-in here"},
		{on: "POST /staff/device_signin", body: terminalOf("signed", ""), status: 200},
		{on: "POST /staff/device_signin", body: terminalOf("browsers", ""), status: 400, reason: "The issuer does not let terminals sign in"},
		{on: "POST /staff/device_session", body: terminalOf("signed", "ada"), status: 200},
		{on: "POST /staff/device_session", body: terminalOf("signed", "mary"), status: 403, reason: "This person is not staff of a channel"},
		{on: "POST /staff/device_session", body: terminalOf("signed", "eve"), status: 401, reason: "The sign-in has failed; begin it again"},
		{on: "POST /staff/device_session", body: terminalOf("signed", "expired_token"), status: 401, reason: "The code has expired; begin the sign-in again"},
		{on: "POST /staff/device_session", body: terminalOf("signed", "access_denied"), status: 403, reason: "The sign-in was denied"},
		{on: "POST /staff/device_session", body: terminalOf("signed", "authorization_pending"), status: 409, reason: "The person has not signed in yet"},
		{on: "POST /staff/device_session", body: terminalOf("signed", "slow_down"), status: 409, reason: "The terminal asks too often; wait 5 seconds longer from now on"},
		{on: "GET /viewer/signins", query: "?extension=signed&channel=77", status: 200},
		{on: "GET /viewer/signin", query: "?" + pollName, status: 303},
		{on: "GET /viewer/signin", query: "?extension=ext&channel=77&poll=p", status: 400, reason: "The channel has no sign-in for viewers here"},
		{on: "GET /viewer/callback", query: "?state=S&code=grace", cookie: flowOfViewer, status: 303},
		{on: "GET /viewer/callback", query: "?state=S&code=ada", status: 400, reason: "No sign-in is under way in this browser"},
		{on: "GET /viewer/callback", cookie: strings.Replace(flowOfViewer, "channel=77", "channel=88", 1), status: 400, reason: "The channel has no sign-in for viewers here"},
		{on: "GET /viewer/callback", query: "?state=S&code=eve", cookie: flowOfViewer, status: 401, reason: "The sign-in has failed; begin it again"},
		{on: "DELETE /viewer", status: 200},
		{on: "DELETE /viewer", foreign: true, status: 403, reason: "A page of another server may not sign a viewer out"},
		{on: "POST /staff_keys", body: `{"scopes":"polls"}`, status: 400, reason: "Invalid body"},
		{on: "POST /staff_keys", body: `{"scopes":["polls"]}`, status: 400, reason: "name must have 1 to {number} bytes"},
		{on: "POST /staff_keys", body: `{"name":"x"}`, status: 400, reason: "scopes must be polls, answers or both"},
		{on: "POST /staff_keys", body: `{"name":"x","scopes":["games"]}`, status: 400, reason: "scopes must be polls, answers or both"},
		{on: "POST /staff_keys", body: `{"name":"x","scopes":["polls"],"expires":0}`, status: 400, reason: "expires must be within the next 366 days"},
		{on: "POST /staff_keys", body: `{"name":"x","scopes":["polls"],"expires":9999999999}`, status: 400, reason: "expires must be within the next 366 days"},
		{on: "POST /staff_keys", prepare: allStaffKeys, status: 400, reason: "A channel has at most {number} staff keys"},
		{on: "GET /staff_keys", ask: oneStaffKey, status: 200},
		{on: "DELETE /staff_keys", ask: oneStaffKey, status: 200},
		{on: "GET /gamelink/games", ask: oneGame, status: 200},
		{on: "DELETE /gamelink/games", ask: oneGame, status: 200},
		{on: "POST /coins/purchase", body: `{"sku":"life","price":10}`, as: stranger(), status: 400, reason: "The JWT names no user"},
		{on: "POST /coins/purchase", body: `{"sku":"life","price":10}`, status: 400, reason: "No such product"},
		{on: "POST /coins/purchase", prepare: offerFor(11, 0), status: 400, reason: "The price has changed"},
		{on: "POST /coins/purchase", prepare: offerFor(10, 9), status: 400, reason: "Not enough coins"},
		{on: "POST /coins/purchase", prepare: offerFor(10, 10), status: 200},
		{on: "POST /coins/purchase", body: `{"sku":"life","price":10}`, key: "\x7f", status: 400, reason: "Idempotency-Key must have 1 to {number} printable bytes"},
		{on: "POST /coins/purchase", prepare: offerFor(10, 20), key: "k", used: `{"sku":"life","price":10,"note":1}`, status: 422, reason: "The Idempotency-Key was used for another request"},
		{on: "GET /coins", as: stranger(), status: 400, reason: "The JWT names no user"},
		{on: "GET /curated_poll", query: "?id=q1", status: 400, reason: "This service has no trivia questions"},

		{on: "POST /pusher_broadcast", body: `{"event":"sandbox:ext:a","data":7}`, status: 400, reason: "event must begin with the environment and the client id"},
		{on: "POST /pusher_broadcast", body: `{`, status: 400, reason: "Invalid body"},
		{on: "POST /pusher_broadcast", body: `{"event":"production:ext:","data":7}`, status: 400, reason: "event must have 1 to {number} bytes, and none of them *"},
		{on: "POST /pusher_broadcast", body: `{"event":"production:ext:vote_update:p","data":7}`, status: 400, reason: "event is a name that the service itself uses"},
		{on: "POST /pusher_broadcast", body: `{"event":"production:ext:a","data":7,"target":"global"}`, status: 400, reason: "Invalid target"},
		{on: "POST /pusher_broadcast", body: `{"event":"production:ext:a","data":"` + long[:9000] + `"}`, status: 413, reason: "data is larger than {limit} bytes"},
		{on: messages, body: `{`, status: 400, reason: "Invalid body"},
		{on: messages, body: `{"event":"a"}`, status: 400, reason: "Invalid body"},
		{on: messages, body: `{"data":7}`, status: 400, reason: "event must have 1 to {number} bytes, and none of them *"},
		{on: messages, body: `{"event":7,"data":7}`, status: 400, reason: "Invalid body"},
		{on: messages, body: `{"event":"","data":7}`, status: 400, reason: "event must have 1 to {number} bytes, and none of them *"},
		{on: messages, body: `{"event":"vote_update:p","data":7}`, status: 400, reason: "event is a name that the service itself uses"},
		{on: "POST /(broadcast|extension_broadcast|broadcast_extension)", body: `{"event":"a","data":7,"target":"global"}`, status: 400, reason: "Invalid target"},
		{on: messages, body: `{"event":"a","data":"` + long[:9000] + `"}`, status: 413, reason: "data is larger than {limit} bytes"},
		{on: "POST /whisper_self", body: `{"event":"a","data":7}`, as: identity{role: "viewer"}, status: 400, reason: "The JWT names no viewer"},
		{on: "GET /events", query: "?topic=", status: 400, reason: "Invalid topic"},
		{on: "GET /events", query: "?topic=a*b", status: 400, reason: "Invalid topic"},
		{on: "GET /events", query: "?" + strings.Repeat("topic=a&", 33), status: 400, reason: "There must be at most {number} topics"},
		{on: "GET /events", query: "?topic=a&topic=b*", status: 200},
		{on: "GET /events", query: "?topic=rank_update:*", status: 400, reason: "A topic of accumulate or rank_update must be the whole name"},

		{on: "POST /authtoken", body: `{"channel_id":"1","role":"viewer"}`, status: 400, reason: "extension_id or app_id is required"},
		{on: "POST /authtoken", body: `{"app_id":"none","channel_id":"1","role":"viewer"}`, status: 400, reason: "No such extension found"},
		{on: "POST /authtoken", body: `{"app_id":"other","extension_id":"ext","channel_id":"1","role":"viewer"}`, status: 400, reason: "extension_id and app_id are of different extensions"},
		{on: "POST /authtoken", body: `{"app_id":"ext"}`, status: 400, reason: "channel_id and role are required"},
		{on: "POST /authtoken", body: `{"app_id":"ext","channel_id":"1","role":"viewer","user_ids":["` + strings.Join(ids, `","`) + `"]}`, status: 400, reason: "Too many user_ids specified"},
		{on: "POST /authtoken", body: `{"app_id":"ext","channel_id":"1","role":"` + long[:257] + `"}`, status: 400, reason: "An id or the role is longer than {limit} bytes"},
		{on: "POST /authtoken", body: `{"app_id":"other","channel_id":"1","role":"viewer"}`, status: 400, reason: "The extension has no active sandbox secret"},
	}
}

// keyedBody is a body that all routes with keys accept, but for messages.
const keyedBody = `{"value":1,"user":"U5","add":1,"key":"k","votes":[{"user_id":"1"}]}`

func configOf(id, config string) string { return `{"id":"` + id + `","config":` + config + `}` }

// testRefusals sends each probe to each operation that it is for.
func (c *contract) testRefusals(t *testing.T) {
	for _, p := range probes() {
		on := regexp.MustCompile("^(" + p.on + ")$")
		matched := false
		for _, op := range c.operations(t) {
			if on.MatchString(op.name()) {
				matched = true
				t.Run(op.name()+" "+p.reason, func(t *testing.T) { c.probe(t, op, p) })
			}
		}
		if !matched {
			t.Errorf("no operation is %s", p.on)
		}
	}
}

func (c *contract) probe(t *testing.T, op describedOperation, p probe) {
	var votes *voting.Service
	a, prefix := newAPI(t, func(c *apiSettings) { votes = c.Voting.Votes.(*voting.Service) }), op.prefixes[0]
	caller := op.sender()
	if p.prepare != nil {
		p.body = p.prepare(t, a)
	}
	if p.ask != nil {
		p.query = p.ask(t, a)
	}
	if p.as.role != "" {
		caller = p.as
	}
	if p.config != "" {
		a.as(owner(), http.MethodPost, "/vote_config", `{"config":`+p.config+`}`).is(http.StatusOK)
	}
	if p.truncated {
		a.as(viewer(), http.MethodPost, "/vote", "{}").is(http.StatusOK)
		poll := voting.Poll{Environment: "production", Extension: "ext", Channel: "77", ID: "default"}
		if _, err := votes.Truncate(t.Context(), poll.Stream(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	credential := caller.header(t)
	if p.late {
		a.configureDevices("default", "")
		credential, _ = a.newDevice("default")
		a.as(owner(), http.MethodDelete, "/vote", "").is(http.StatusOK)
	}
	headers := []string{"Authorization", credential, "If-Match", p.match, "If-None-Match", p.noneMatch, "Cookie", p.cookie}
	if p.foreign {
		headers = append(headers, "Sec-Fetch-Site", "cross-site")
	}
	if p.key != "" {
		headers = append(headers, "Idempotency-Key", p.key)
	}
	if p.used != "" {
		a.send(op.method, prefix+op.path+p.query, p.used, headers...).is(http.StatusOK)
	}
	path := cmp.Or(p.elsewhere, prefix+cmp.Or(p.path, op.path))
	if p.find != nil {
		path = p.find(t, a)
	}
	got := a.send(op.method, path+p.query, p.body, headers...)
	c.expect(t, op, got, p.status, p.reason)
}

// sender returns a caller that may use an operation.
func (op describedOperation) sender() identity {
	if roles := texts(op.Extensions["x-roles"]); len(roles) == 1 && roles[0] == "broadcaster" {
		return broadcaster()
	}
	return owner()
}

// oneGame has a game paired with the owner's channel and returns the query that names it.
func oneGame(t *testing.T, a *api) string {
	t.Helper()
	a.as(broadcaster(), http.MethodPost, "/validate_pin", shownPIN(t, a)).is(http.StatusOK)
	var list struct{ Games []struct{ ID string } }
	if err := json.Unmarshal([]byte(a.as(broadcaster(), http.MethodGet, "/gamelink/games", "").is(http.StatusOK).body), &list); err != nil || len(list.Games) == 0 {
		t.Fatalf("%v, %d games", err, len(list.Games))
	}
	return "?id=" + list.Games[0].ID
}

// votedIn has a viewer vote in a poll, and returns a body with a configuration of that.
func votedIn(id, config string) func(*testing.T, *api) string {
	return func(_ *testing.T, a *api) string {
		a.as(viewer(), http.MethodPost, "/vote?id="+id, "{}").is(http.StatusOK)
		return configOf(id, config)
	}
}

// asked configures the default question, and returns a body that patches that.
func asked(config string) func(*testing.T, *api) string {
	return func(_ *testing.T, a *api) string {
		a.as(owner(), http.MethodPost, "/rank_config", "{}").is(http.StatusOK)
		return `{"config":` + config + `}`
	}
}

// shownPIN returns a body with the PIN that a game shows.
func shownPIN(t *testing.T, a *api) string {
	t.Helper()
	var shown struct{ PIN string }
	if err := json.Unmarshal([]byte(a.send(http.MethodPost, "/v1/pin", `{"identifier":"ext"}`).is(http.StatusOK).body), &shown); err != nil {
		t.Fatal(err)
	}
	return `{"pin":"` + strings.ToLower(shown.PIN) + ` "}`
}

// offerFor has the owner's channel sell a life for a price, and the owner have coins, and
// returns a purchase for 10.
func offerFor(price, coins int) func(*testing.T, *api) string {
	return func(t *testing.T, a *api) string {
		a.as(owner(), http.MethodPost, "/config/channel", fmt.Sprintf(`{"skus":{"life":{"price":%d}}}`, price)).is(http.StatusOK)
		body := `{"transactionReceipt":"` + receipt(t, "ext", "t1", owner().user, coins) + `"}`
		a.as(owner(), http.MethodPost, "/bits/transactions", body).is(http.StatusCreated)
		a.as(owner(), http.MethodPost, "/bits/transactions", body).is(http.StatusOK)
		return `{"sku":"life","price":10}`
	}
}

// receipt returns a receipt of the platform.
func receipt(t *testing.T, extension, id, user string, bits int) string {
	t.Helper()
	return sign(t, jwt.SigningMethodHS256, jwt.MapClaims{
		"topic": "bits_transaction_receipt", "exp": time.Now().Add(time.Hour).Unix(),
		"data": map[string]any{
			"transactionId": id, "time": "2026-01-31 18:00:00.5 +0000 UTC", "userId": user,
			"product": map[string]any{
				"domainId": "twitch.ext." + extension, "sku": "bits", "displayName": "Bits",
				"cost": map[string]any{"amount": bits, "type": "bits"},
			},
		},
	}, []byte(productionKey))
}
