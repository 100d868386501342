package contract_test

import (
	"math/bits"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
)

const (
	contractPage  = "../contract.md"
	openapiFile   = "../openapi.yaml"
	movingPage    = "../../services/docs/moving.md"
	publicPage    = "../../services/docs/production-checklist.md"
	retentionPage = "../../services/docs/privacy.md"
	extensionPage = "../../operator/docs/extension.md"
	tokenPage     = "../../services/docs/what-a-token-can-do.md"
)

// sentences are those of all documents.
func sentences() []sentence {
	return slices.Concat(requestSentences(), voteSentences(), documentSentences(), gameSentences(), answerAndMessageSentences(), registrySentences())
}

func answerAndMessageSentences() []sentence {
	const dataKiB = contract.MaxMessageData >> 10
	const commentSeconds = int64(contract.CommentInterval / time.Second)
	return []sentence{
		{contractPage, "| id in a query or in a token | # bytes |", []int64{contract.MaxID}},
		{contractPage, "| key of an answer | # bytes |", []int64{contract.MaxAnswer}},
		{contractPage, "| entries of a ranking | #, on request # |", []int64{contract.DefaultRanking, contract.MaxRanking}},
		{contractPage, "| answers of a viewer to a question | # |", []int64{contract.MaxAnswers}},
		{contractPage, "| moderated answers of a question | # |", []int64{contract.MaxDecisions}},
		{contractPage, "| `blocked` of a question | #, each # bytes |", []int64{contract.MaxBlocked, contract.MaxBlockedPhrase}},
		{contractPage, "| topics of a subscription | #, each # bytes |", []int64{contract.MaxTopics, contract.MaxTopic}},
		{contractPage, "| overlay keys of a channel | # |", []int64{contract.MaxOverlayKeys}},
		{contractPage, "| polls or questions of an overlay key | # |", []int64{contract.MaxOverlayPolls}},
		{contractPage, "| `name` of an overlay key | # bytes |", []int64{contract.MaxOverlayName}},
		{contractPage, "| polls of a channel that an open topic follows | #:", []int64{contract.MaxFollowedPolls}},
		{contractPage, "Of more than # polls that a topic stands for", []int64{contract.MaxFollowedPolls}},
		{contractPage, "| events that a subscriber may be behind | #,", []int64{contract.MaxEventsBehind}},
		{contractPage, "at most #; then 503 |", []int64{contract.MaxSubscribers}},
		{contractPage, "| subscribers of a viewer | #; then 429 |", []int64{contract.MaxViewerSubscribers}},
		{contractPage, "more than # messages) an event named `resync`", []int64{contract.KeptMessages}},
		{contractPage, "sends a comment every # seconds", []int64{commentSeconds}},
		{publicPage, "nine for each 320 KiB of memory, at most #", []int64{contract.MaxSubscribers}},
		{contractPage, "| name of a message | # bytes |", []int64{contract.MaxMessageName}},
		{contractPage, "| data of a message | # KiB |", []int64{dataKiB}},
		{contractPage, "| body of a message | # KiB |", []int64{contract.MaxMessageBody >> 10}},
		{contractPage, "`limit` is from 1 to # and # by", []int64{contract.MaxRanking, contract.DefaultRanking}},
		{contractPage, "`minLength`, `maxLength` | integer | 1, # | characters of an answer, 1…# |", []int64{contract.MaxAnswer, contract.MaxAnswer}},
		{contractPage, "A question keeps # decisions", []int64{contract.MaxDecisions}},
		{contractPage, "`A question has at most ## moderated answers`. A later", []int64{contract.MaxDecisions}},
		{contractPage, "It may occur up to # times, each at most # bytes", []int64{contract.MaxTopics, contract.MaxTopic}},
		{contractPage, "A name has 1 to # bytes without", []int64{contract.MaxMessageName}},
		{contractPage, "is any JSON of at most # KiB", []int64{dataKiB}},
		{contractPage, "a JSON object of at most # KiB, otherwise 413, to the games", []int64{dataKiB}},
		{contractPage, "| staff keys of a channel | # |", []int64{contract.MaxStaffKeys}},
		{contractPage, "`vote_weight` is 1 to #, and 1 without", []int64{contract.MaxVoteWeight}},
		{contractPage, "| `name` of a staff key | # bytes |", []int64{contract.MaxStaffName}},
		{contractPage, "| time until a staff key ends | # days |", []int64{contract.MaxStaffDays}},
		{contractPage, "| issuers of viewers of an extension | # |", []int64{contract.MaxViewerIssuers}},
		{contractPage, "`polls` and `questions` are 1 to # ids each", []int64{contract.MaxOverlayPolls}},
		{contractPage, "the # best visible answers", []int64{contract.DefaultRanking}},

		{openapiFile, "the # best visible answers", []int64{contract.DefaultRanking}},
		{openapiFile, "Most entries in the response. schema: {type: integer, minimum: 1, maximum: ##, default: #}", []int64{contract.MaxRanking, contract.DefaultRanking}},
		{openapiFile, "minLength: {description: Characters., type: integer, minimum: 1, maximum: #,", []int64{contract.MaxAnswer}},
		{openapiFile, "An answer has at most # bytes, too.', type: integer, minimum: 1, maximum: #, default: #}", []int64{contract.MaxAnswer, contract.MaxAnswer, contract.MaxAnswer}},
		{openapiFile, "May occur up to # times;", []int64{contract.MaxTopics}},
		{openapiFile, "schema: {type: array, maxItems: #, items: {type: string, minLength: 1, maxLength: #,", []int64{contract.MaxTopics, contract.MaxTopic}},
		{openapiFile, "name: {type: string, maxLength: #, description: For people.", []int64{contract.MaxOverlayName}},
		{openapiFile, "polls: {type: array, minItems: 1, maxItems: #, items", []int64{contract.MaxOverlayPolls}},
		{openapiFile, "questions: {type: array, minItems: 1, maxItems: #, items", []int64{contract.MaxOverlayPolls}},
		{openapiFile, "maxLength: # target:", []int64{contract.MaxMessageName}},
		{openapiFile, "Any JSON, at most # KiB without insignificant", []int64{dataKiB}},
		{openapiFile, "Any JSON object of at most # KiB. Games", []int64{dataKiB}},
		{openapiFile, "A comment comes every # seconds", []int64{commentSeconds}},
		{openapiFile, "for messages, more than # of", []int64{contract.KeptMessages}},
		{openapiFile, "The data is over # KiB", []int64{dataKiB}},
		{openapiFile, "The data is over # KiB, or the body over # KiB.", []int64{dataKiB, contract.MaxMessageBody >> 10}},
		{openapiFile, "Ranking: type: object required: [data] properties: data: type: array maxItems: ##", []int64{contract.MaxRanking}},

		{movingPage, "an extension has at most # matches, of # channels and # polls each", []int64{contract.MaxMatches, contract.MaxMatchChannels, contract.MaxMatchPolls}},
	}
}

func requestSentences() []sentence {
	const keyHours, keySeconds = int64(contract.KeyLifetime / time.Hour), int64(contract.MinKeyLifetime / time.Second)
	return []sentence{
		{contractPage, "The header `Idempotency-Key` has 1 to # printable ASCII bytes", []int64{contract.MaxKey}},
		{contractPage, "`Idempotency-Key must have 1 to ## printable bytes`", []int64{contract.MaxKey}},
		{contractPage, "| an `Idempotency-Key` | # bytes |", []int64{contract.MaxKey}},
		{contractPage, "is kept | # hours, at least # seconds (", []int64{keyHours, keySeconds}},
		{contractPage, "for # hours unless room is short and always for at least # seconds", []int64{keyHours, keySeconds}},
		{contractPage, "is kept for R/2r seconds, at most # hours and at least # seconds;", []int64{keyHours, keySeconds}},
		{contractPage, "an id that the client sends (at most # printable ASCII", []int64{contract.MaxRequestID}},
		{contractPage, "An `id` in a query has at most # bytes,", []int64{contract.MaxID}},
		{contractPage, "An id in a token has at most # bytes, and the header # KiB.", []int64{contract.MaxID, contract.MaxCredential >> 10}},
		{contractPage, "| a credential | # KiB |", []int64{contract.MaxCredential >> 10}},
		{contractPage, "| body of POST `/authtoken` | # KiB |", []int64{contract.MaxPublicBody >> 10}},
		{contractPage, "name at most # of them, each of at most # bytes, percent-encoded", []int64{contract.MaxIgnored, contract.MaxMemberName}},
		{contractPage, "`JSON must not be nested deeper than ## levels`, `A number in JSON must have at most ## characters`", []int64{contract.MaxNesting, contract.MaxNumber}},
		{contractPage, "| levels of stored JSON | # |", []int64{contract.MaxNesting}},
		{contractPage, "| numbers in stored JSON | # characters,", []int64{contract.MaxNumber}},

		{openapiFile, "type: string, minLength: 1, maxLength: ##, pattern: '^[ -~]+$'}", []int64{contract.MaxKey}},
		{openapiFile, "at most # bytes. Empty is `default`. schema: {type: string, default: default, maxLength: ##}", []int64{contract.MaxID, contract.MaxID}},
		{openapiFile, "keeps a key for # hours, less if there are many, and always for # seconds", []int64{keyHours, keySeconds}},
		{openapiFile, "One that the client sends (at most # printable ASCII", []int64{contract.MaxRequestID}},
		{openapiFile, "a comma and a blank: at most #, of each at most # bytes, percent-encoded", []int64{contract.MaxIgnored, contract.MaxMemberName}},
		{openapiFile, "nested at most # levels, and its numbers have at most # characters", []int64{contract.MaxNesting, contract.MaxNumber}},
		{openapiFile, "`JSON must not be nested deeper than ## levels`, `A number in JSON must have at most ## characters`", []int64{contract.MaxNesting, contract.MaxNumber}},
	}
}

func voteSentences() []sentence {
	bitsOfModifier := int64(bits.Len64(contract.MaxModifier) - 1)
	return []sentence{
		{contractPage, "| value of a vote | −#…# |", []int64{-contract.MinValue, contract.MaxValue}},
		{contractPage, "A vote's value is an integer from −# to #,", []int64{-contract.MinValue, contract.MaxValue}},
		{contractPage, "`value` is from −# to #,", []int64{-contract.MinValue, contract.MaxValue}},
		{contractPage, "| `count` of POST `/vote` | 1…#, and", []int64{contract.MaxCount}},
		{contractPage, "at least 1, at most #, and at most the poll's `totalVotesPerUser`", []int64{contract.MaxCount}},
		{contractPage, "| votes of POST `/votes` | 1…# |", []int64{contract.MaxVotes}},
		{contractPage, "Submits 1 to # votes of named viewers", []int64{contract.MaxVotes}},
		{contractPage, "`votes must have 1 to ## elements`", []int64{contract.MaxVotes}},
		{contractPage, "`opaque_user_id` or both, of at most # bytes.", []int64{contract.MaxID}},
		{contractPage, "| `user` of a modifier | # bytes |", []int64{contract.MaxVoter}},
		{contractPage, "| sum of an identity's modifiers | ±2^# |", []int64{bitsOfModifier}},
		{contractPage, "longer than # bytes, if `add` is missing, or if the sum leaves ±2^#.", []int64{contract.MaxVoter, bitsOfModifier}},
		{contractPage, "are at most ##, the end of the year ##.", []int64{contract.LastStrictTime, contract.LastStrictYear}},
		{contractPage, "`step` is chosen for about # points. A `to` in the future means now. With `step` alone, the response has the latest points. More than # points are refused", []int64{contract.DefaultPoints, contract.MaxPoints}},
		{contractPage, "`limit` is from 1 to #, # by default", []int64{contract.MaxPolls, contract.DefaultPolls}},

		{openapiFile, "value: {type: integer, minimum: -##, maximum: ##", []int64{-contract.MinValue, contract.MaxValue}},
		{openapiFile, "mean: {type: number, minimum: -##, maximum: ##}", []int64{-contract.MinValue, contract.MaxValue}},
		{openapiFile, "Absent when there is none., type: integer, minimum: -##, maximum: ##}", []int64{-contract.MinValue, contract.MaxValue}},
		{openapiFile, "At most the poll's `totalVotesPerUser`. type: integer minimum: 0 maximum: ##", []int64{contract.MaxCount}},
		{openapiFile, "Up to # votes of named viewers", []int64{contract.MaxVotes}},
		{openapiFile, "votes: type: array minItems: 1 maxItems: ##", []int64{contract.MaxVotes}},
		{openapiFile, "user_id: {description: The shared user id of the viewer., type: string, maxLength: ##}", []int64{contract.MaxID}},
		{openapiFile, "opaque_user_id: {description: The opaque id of the viewer., type: string, maxLength: ##}", []int64{contract.MaxID}},
		{openapiFile, "chosen for about # points. There are at most #.", []int64{contract.DefaultPoints, contract.MaxPoints}},
		{openapiFile, "points: type: array maxItems: ##", []int64{contract.MaxPoints}},
		{openapiFile, "Most polls in the response. schema: {type: integer, minimum: 1, maximum: ##, default: ##}", []int64{contract.MaxPolls, contract.DefaultPolls}},
		{openapiFile, "times after the year ##,", []int64{contract.LastStrictYear}},
	}
}

func gameSentences() []sentence {
	minutes, days := int64(contract.PINLifetime/time.Minute), int64(contract.GameTokenLifetime/(24*time.Hour))
	timeout, delay := int64(contract.MessageTimeout/time.Second), int64(contract.GuessDelay/time.Second)
	return []sentence{
		{contractPage, "by a PIN: # of the characters `" + contract.PINLetters + "`,", []int64{contract.PINLength}},
		{contractPage, "good for # minutes and one use", []int64{minutes}},
		{contractPage, "A channel has at most # open ones; the oldest goes.", []int64{contract.MaxPINs}},
		{contractPage, "broadcaster of the channel, for # days.", []int64{days}},
		{contractPage, "An address creates # PIN a second at an extension, # at once, and has # open ones;", []int64{contract.PINsPerSecond, contract.PINsAtOnce, contract.MaxShownFrom}},
		{contractPage, "share their rate: of one address at an extension # at once, # a second.", []int64{contract.PINsAtOnce, contract.PINsPerSecond}},
		{contractPage, "answer 429 to an address above # a second, # at once.", []int64{contract.PINsPerSecond, contract.PINsAtOnce}},
		{contractPage, "An extension has # open ones:", []int64{contract.MaxShown}},
		{contractPage, "If a refresh token is used more than # s after", []int64{int64(contract.RefreshOverlap / time.Second)}},
		{contractPage, "A channel has at most # games with a refresh token;", []int64{contract.MaxPairedGames}},
		{contractPage, "looked at again every # s:", []int64{int64(contract.GamePingInterval / time.Second)}},
		{contractPage, "sends messages of at most # KiB, each within # s of its first frame.", []int64{contract.MaxUnauthenticatedMessage >> 10, timeout}},
		{contractPage, "After # refused credentials of a connection, or # a minute of an address, the connection closes with 1008 after # s. So it does after # other", []int64{contract.MaxGuesses, contract.MaxGuessesPerMinute, delay, contract.MaxRefused}},
		{contractPage, "An address has at most # such connections", []int64{contract.MaxUnauthenticated}},
		{contractPage, "for # connections of an address at once, # a second; others of it are not answered", []int64{contract.MaxUnauthenticated, contract.DisplacementsPerSecond}},
		{contractPage, "Afterwards messages have at most # MiB,", []int64{contract.MaxGameMessage >> 20}},
		{contractPage, "A connection has at most # subscriptions;", []int64{contract.MaxGameSubscriptions}},
		{contractPage, "`expires must be within the next ## years`", []int64{contract.MaxOverlayYears}},

		{movingPage, "good for # minutes, and a key", []int64{minutes}},
		{publicPage, "| connections from one address of games that have not authenticated | # |", []int64{contract.MaxUnauthenticated}},
		{publicPage, "| connections of an address that end another one so | #, and # a second |", []int64{contract.MaxUnauthenticated, contract.DisplacementsPerSecond}},
		{tokenPage, "within # minutes and once: become a game", []int64{minutes}},
		{tokenPage, "| a game's refresh token, for # days, or its JWT, for # |", []int64{int64(contract.RefreshLifetime / (24 * time.Hour)), days}},
		{tokenPage, "within # seconds with the code 4001", []int64{int64(contract.GamePingInterval / time.Second)}},

		{openapiFile, "Good for # minutes and one use.", []int64{minutes}},
		{openapiFile, "The token works, for # days,", []int64{days}},
		{openapiFile, "expires must be within the next ## years", []int64{contract.MaxOverlayYears}},
	}
}

func documentSentences() []sentence {
	const tokenMinutes = int64(contract.SandboxTokenLifetime / time.Minute)
	const pageMiB, namedKiB = contract.BufferPageBytes >> 20, contract.MaxNamedDocument >> 10
	return []sentence{
		{contractPage, "A page ends after # entries or # MiB.", []int64{contract.BufferPage, pageMiB}},
		{contractPage, "| page of a buffer | # entries or # MiB |", []int64{contract.BufferPage, pageMiB}},
		{contractPage, "| users in a map of patches, and in `user_ids` | # |", []int64{contract.MaxViewers}},
		{contractPage, "`Too many ids specified` for more than #.", []int64{contract.MaxViewers}},
		{contractPage, "at most # users, a body of at most", []int64{contract.MaxViewers}},
		{contractPage, "A page has at most #; `cursor` takes", []int64{contract.UsersPage}},
		{contractPage, "POST takes a JSON object of at most # KiB without", []int64{namedKiB}},
		{contractPage, "An id with `:` or `*`, or of more than # bytes,", []int64{contract.MaxID}},
		{contractPage, "A channel has at most # ids; one more", []int64{contract.MaxNamed}},
		{contractPage, "at most # further users", []int64{contract.MaxSandboxTokens}},
		{contractPage, "A token is valid for # minutes, for the sandbox", []int64{tokenMinutes}},
		{contractPage, "`An id or the role is longer than {limit} bytes` (#)", []int64{contract.MaxID}},
		{contractPage, "buyer has # open ones in a channel, or the channel # in all, a purchase for coins", []int64{contract.MaxBuyerCoins, contract.MaxChannelCoins}},
		{contractPage, "so they have more room: # of a buyer, # of a channel.", []int64{contract.MaxBuyerBits, contract.MaxChannelBits}},

		{openapiFile, "A page ends after # entries or # MiB,", []int64{contract.BufferPage, pageMiB}},
		{openapiFile, "explode: false schema: type: array minItems: 1 maxItems: ##", []int64{contract.MaxViewers}},
		{openapiFile, "or `user_ids` lists more than # users.", []int64{contract.MaxViewers}},
		{openapiFile, "map of patches for those users, at most # and in", []int64{contract.MaxViewers}},
		{openapiFile, "names more than # users; every document stays", []int64{contract.MaxViewers}},
		{openapiFile, "By user id. type: object minProperties: 1 maxProperties: ##", []int64{contract.MaxViewers}},
		{openapiFile, "By user id. type: object maxProperties: ##", []int64{contract.MaxViewers}},
		{openapiFile, "first saw them, # on a page", []int64{contract.UsersPage}},
		{openapiFile, "The name. Without `:` and `*`, at most # bytes. schema: {type: string, default: default, maxLength: ##}", []int64{contract.MaxID, contract.MaxID}},
		{openapiFile, "At most # KiB, and # of them in a channel.", []int64{namedKiB, contract.MaxNamed}},
		{openapiFile, "The tokens are valid for # minutes and for", []int64{tokenMinutes}},
		{openapiFile, "user_ids: type: array maxItems: ##", []int64{contract.MaxSandboxTokens}},
	}
}

func registrySentences() []sentence {
	const messageHours = int64(contract.MessageLifetime / time.Hour)
	const documentKiB, bodyKiB, mapMiB, entryKiB = contract.DefaultDocumentBytes >> 10, contract.DefaultBodyBytes >> 10, contract.DefaultAdminMapBytes >> 20, contract.DefaultEntryBytes >> 10
	return []sentence{
		{contractPage, "| `documentBytes`: a document after the write | # KiB | # MiB |", []int64{documentKiB, contract.MaxStoredBytes >> 20}},
		{contractPage, "| `bodyBytes`: a request body | # KiB | # MiB |", []int64{bodyKiB, contract.MaxBodyBytes >> 20}},
		{contractPage, "| `adminMapBytes`: a map of patches | # MiB | # MiB |", []int64{mapMiB, contract.MaxBodyBytes >> 20}},
		{contractPage, "| `accumulationEntryBytes`: an entry | # KiB | # MiB |", []int64{entryKiB, contract.MaxStoredBytes >> 20}},
		{contractPage, "| `messageRate`: messages to a channel, and to an extension | # a second, # at once |", []int64{contract.DefaultMessagesPerSecond, contract.DefaultMessagesAtOnce}},
		{contractPage, "| `tokenHours`: how long a token may still be valid | ## | ## |", []int64{contract.DefaultTokenHours, contract.MaxTokenHours}},
		{contractPage, "polls, buffers and questions that one viewer brings into being | # |", []int64{contract.DefaultIdentityStreams}},
		{contractPage, "| `extensionStreamsPerDay`: the same, all that have quotas together | # |", []int64{contract.DefaultExtensionStreams}},
		{contractPage, "their bodies and 128 bytes each | # MiB |", []int64{contract.DefaultIdentityBytes >> 20}},
		{contractPage, "| `extensionBytesPerDay`: the same, all that have quotas together | # GiB |", []int64{contract.DefaultExtensionBytes >> 30}},
		{contractPage, "documents of state that viewers bring into being | # |", []int64{contract.DefaultExtensionDocuments}},
		{contractPage, "| `identityWhispersPerHour`: messages of one viewer to itself | # |", []int64{contract.DefaultIdentityWhispers}},
		{contractPage, "which it removes after # hours | # years |", []int64{messageHours, contract.MaxRetentionHours / 8760}},
		{retentionPage, "Messages leave the logs of their feeds after # hours", []int64{messageHours}},
		{contractPage, "An entry may have # KiB without insignificant", []int64{entryKiB}},
		{contractPage, "A document may have # KiB after the write", []int64{documentKiB}},
		{contractPage, "a body of at most # MiB, each value a patch", []int64{mapMiB}},

		{openapiFile, "Any JSON object of at most # KiB. The server adds", []int64{entryKiB}},
		{openapiFile, "The body is over # KiB, or the entry over # KiB without", []int64{bodyKiB, entryKiB}},
		{openapiFile, "and in a body of at most # MiB: one that fails", []int64{mapMiB}},
		{openapiFile, "The body is over the limit, # KiB unless configured.", []int64{bodyKiB}},
		{openapiFile, "The body is over # KiB, or the document over # KiB;", []int64{bodyKiB, documentKiB}},
		{openapiFile, "The body is over # KiB, or a document would be over # KiB after", []int64{bodyKiB, documentKiB}},
		{openapiFile, "Any JSON object, at most # KiB.", []int64{documentKiB}},

		{retentionPage, "each optional, from #h to ##h", []int64{contract.MinRetentionHours, contract.MaxRetentionHours}},
		{extensionPage, "It has # to ## bytes when decoded", []int64{contract.MinKeyBytes, contract.MaxKeyBytes}},
		{extensionPage, "`WeakKey` (less than # bytes)", []int64{contract.MinKeyBytes}},
	}
}
