package gamelink_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/face/gamelink"
)

var update = flag.Bool("update", false, "write the description of the messages")

const (
	pageFile     = "../../../../api/gamelink.md"
	asyncAPIFile = "../../../../api/gamelink.yaml"
)

// example is a request that a game sends, and what it does.
type example struct{ action, target, does, data string }

func (e example) name() string { return strings.TrimSpace(e.action + " " + e.target) }

// examples are the requests of a server's connection, in an order in which they succeed.
func examples(pin string) []example {
	var all []example
	all = append(all,
		example{"subscribe", "authentication", "Gets a response before the connection has authenticated. No push follows.", `{}`},
		example{"authenticate", "", "Authenticates the connection by a PIN, and later by the `refresh` of the last response, or by a `jwt`. The response has a new `refresh`.", `{"client_id":"ext","pin":"` + pin + `","game_id":"Tower of Tea"}`},
		example{"create", "poll", "Gives a poll this configuration, and keeps its votes: delete it first to begin with none.", `{"poll_id":"next-map","prompt":"Where to?","options":["Ice","Sand"],"config":{"endsIn":120,"totalVotesPerUser":1},"user_data":{"prize":true}}`},
		example{"reconfigure", "poll", "Changes the named members of a poll's configuration. `endsAt: -1` ends it.", `{"poll_id":"next-map","config":{"endsAt":0}}`},
		example{"get", "poll", "Reads a poll with its results.", `{"poll_id":"next-map"}`},
		example{"subscribe", "poll", "Has the results of a poll pushed, of all polls of the channel for `*`.", `{"topic_id":"next-map"}`},
		example{"unsubscribe", "poll", "Ends that.", `{"topic_id":"next-map"}`},
		example{"delete", "poll", "Deletes a poll with its votes, if there is one.", `{"poll_id":"next-map"}`},
	)
	for _, older := range []struct{ target, id, topic string }{
		{"state", `"state_id":"channel"`, `"topic_id":"channel"`}, {"channel", "", ""}, {"extension", "", ""},
	} {
		all = append(all, stateExamples(older.target, older.id, older.topic)...)
	}
	return slices.Concat(all, documentExamples(), purchaseExamples(), matchExamples(), gatewayExamples())
}

// stateExamples are those of a state document. The targets channel and extension are an older form,
// in which the target names the document.
func stateExamples(target, id, topic string) []example {
	with := func(members string) string { return "{" + strings.Trim(id+","+members, ",") + "}" }
	does := func(text string) string {
		switch target {
		case "channel":
			return text + " The older form of a request for the channel's state."
		case "extension":
			return text + " The older form of a request for the extension's state, which only an admin's or a backend's token may write."
		}
		return text
	}
	patch := `"state":[{"op":"add","path":"/round","value":2}]`
	return []example{
		{"set", target, does("Replaces a state document."), with(`"state":{"round":1}`)},
		{"get", target, does("Reads a state document."), with("")},
		{"patch", target, does("Changes a state document by JSON Patch; `add` makes missing parents."), with(patch)},
		{"update", target, does("Another name of `patch`."), with(patch)},
		{"subscribe", target, does("Has the document pushed after each write."), "{" + topic + "}"},
		{"unsubscribe", target, does("Ends that."), "{" + topic + "}"},
	}
}

func documentExamples() []example {
	return []example{
		{"set", "config", "Replaces the channel's configuration.", `{"config":{"difficulty":"hard"}}`},
		{"patch", "config", "Changes the channel's configuration by JSON Patch.", `{"config":[{"op":"add","path":"/lives","value":3}]}`},
		{"get", "config", "Reads the configuration of the channel, of the extension, or both as `combined`.", `{"config_id":"combined"}`},
		{"subscribe", "config", "Has a configuration pushed after each write.", `{"config_id":"channel"}`},
		{"unsubscribe", "config", "Ends that.", `{"config_id":"channel"}`},
		{"broadcast", "", "Sends an event to the viewers of the channel, to those in `ids` where it is there.", `{"topic":"boss","data":{"health":40},"ids":["Uviewer"]}`},
		{"subscribe", "datastream", "Has what viewers send by POST `/datastream` pushed.", `{"topic_id":""}`},
		{"unsubscribe", "datastream", "Ends that.", `{"topic_id":""}`},
	}
}

func purchaseExamples() (all []example) {
	for _, target := range []string{"twitchPurchaseBits", "transaction", "transaction_complete", "transaction_completed"} {
		does := "Has purchases of a product pushed, of all products for `*`."
		if target != "twitchPurchaseBits" {
			does = "Another name of `subscribe twitchPurchaseBits`."
		}
		all = append(all, example{"subscribe", target, does, `{"sku":"*"}`}, example{"unsubscribe", target, "Ends that.", `{"sku":"*"}`})
	}
	return append(all,
		example{"get", "transaction", "Lists the oldest purchases that are neither validated nor refunded, at most 10.", `{"sku":"life"}`},
		example{"validate", "transaction", "Closes a purchase that the game has delivered. `transaction_id` is the `muxy_id` of the purchase.", `{"transaction_id":"unknown","details":{}}`},
		example{"refund", "transaction", "Gives the coins of a purchase back: of one, or of the newest open one of a product. Bits cannot be returned.", `{"user_id":"5","sku":"life"}`},
	)
}

func matchExamples() []example {
	return []example{
		{"create", "match", "Makes a match, a named set of channels; one that exists stays as it is.", `{"id":"cup-7"}`},
		{"keepalive", "match", "Keeps a match, which ends an hour after the last request for it.", `{"id":"cup-7"}`},
		{"add_channels", "match", "Adds channels to a match. A poll that runs begins in them.", `{"id":"cup-7","channel_ids":["77","78"]}`},
		{"create", "match_poll", "Begins a poll in each channel of a match, with one start and one end.", `{"id":"cup-7","poll":{"poll_id":"winner","prompt":"Who wins?","options":["Red","Blue"],"config":{"endsIn":120}}}`},
		{"reconfigure", "match_poll", "Changes the poll in each channel.", `{"id":"cup-7","poll_id":"winner","config":{"endsAt":-1}}`},
		{"subscribe", "match_poll", "Has the results of the polls of a match pushed, for each channel and overall.", `{"topic_id":"cup-7"}`},
		{"unsubscribe", "match_poll", "Ends that.", `{"topic_id":"cup-7"}`},
		{"delete", "match_poll", "Deletes the poll in each channel.", `{"id":"cup-7","poll_id":"winner"}`},
		{"broadcast", "match", "Sends an event to the viewers of each channel.", `{"match_id":"cup-7","topic":"boss","data":{"health":40}}`},
		{"remove_channels", "match", "Takes channels out of a match. They keep their polls, which no longer count in it.", `{"id":"cup-7","channel_ids":["78"]}`},
	}
}

func gatewayExamples() []example {
	none := "Changes nothing: Acclaim has no matchmaking."
	return []example{
		{"set", "gameMetadata", "Writes name, logo and theme of the game to `/game/metadata` of the channel's state. An empty text leaves a member as it is.", `{"name":"Tower of Tea","logo":"","theme":"dark"}`},
		{"set", "gatewayActions", "Writes the actions that viewers may buy to `/game/actions` of the channel's state.", `{"actions":[{"id":"heal","category":"help","state":"available","impact":2,"name":"Heal","description":"","icon":"","count":5}]}`},
		{"set", "gatewayActionState", "Changes one of `count`, `inventory`, `state` or, by `delta_inventory`, the inventory of an action.", `{"id":"heal","delta_inventory":{"change":-1}}`},
		{"subscribe", "matchmaking", none, `{"operation":"invite"}`},
		{"unsubscribe", "matchmaking", none, `{"operation":"invite"}`},
		{"clear", "matchmaking", none, `{}`},
		{"remove", "matchmaking", none, `{"id":"5"}`},
		{"get", "drops", "Returns no drop: Acclaim has none.", `{"status":"*"}`},
		{"validate", "drops", "Refuses the drop: Acclaim has none.", `{"id":"unknown"}`},
	}
}

// pushDescriptions returns what causes each push, by its target.
func pushDescriptions() map[string]string {
	return map[string]string{
		"poll":               "The results have changed, at most once a second, or the poll has begun or ended. Each member but `disabled` and `user_data` is always there; `results` has 32 elements.",
		"channel":            "The channel's state was written. `extension` is the same for the extension's state.",
		"config":             "A configuration was written.",
		"datastream":         "Viewers have sent events. A push has at most 100 of them, in order.",
		"twitchPurchaseBits": "A viewer has bought something, for bits or coins. `timestamp` is in milliseconds.",
		"match_poll":         "The results of a match have changed, at most once a second, or its poll has ended.",
	}
}

// causePushes has a second game follow all that is pushed, causes each, and returns one of each target.
func causePushes(w *world) map[string]received {
	w.Helper()
	g := w.server()
	for _, topic := range [][2]string{
		{"poll", `{"topic_id":"next-map"}`}, {"channel", `{}`}, {"config", `{"config_id":"channel"}`}, {"datastream", `{}`},
		{"twitchPurchaseBits", `{"sku":"*"}`}, {"match_poll", `{"topic_id":"cup-8"}`},
	} {
		g.must("subscribe", topic[0], topic[1])
	}
	broadcaster, viewer := w.token("broadcaster", "77"), w.token("viewer", "5")
	g.must("create", "poll", `{"poll_id":"next-map","prompt":"Where to?","options":["Ice","Sand"],"user_data":{"prize":true}}`)
	w.ok(viewer, "POST", "/vote?id=next-map", `{"value":1}`)
	w.ok(broadcaster, "POST", "/channel_state", `{"round":3}`)
	w.ok(broadcaster, "POST", "/config/channel", `{"skus":{"life":{"price":10}}}`)
	w.ok(viewer, "POST", "/datastream", `{"throw":"tomato"}`)
	w.ok(viewer, "POST", "/bits/transactions", `{"transactionReceipt":"`+w.bitsReceipt("5", 50)+`","displayName":"Ann"}`)
	g.must("create", "match", `{"id":"cup-8"}`)
	g.must("add_channels", "match", `{"id":"cup-8","channel_ids":["78"]}`)
	g.must("create", "match_poll", `{"id":"cup-8","poll":{"poll_id":"winner","prompt":"Who wins?","options":["Red","Blue"]}}`)
	w.ok(w.tokenIn("78", "viewer", "5"), "POST", "/vote?id=winner", `{"value":1}`)
	found, caused := map[string]received{}, map[string]string{"channel": `"round":3`, "config": `"life"`}
	g.await("a push of each target", func() bool {
		for _, push := range g.pushes {
			if strings.Contains(string(push.Data), caused[push.Meta.Target]) { // not a write of before
				found[push.Meta.Target] = push
			}
		}
		return len(found) == len(pushDescriptions())
	})
	return found
}

// described is an example with the answer to it, as JSON.
type described struct {
	example
	request, answer string
}

// Each kind of request is answered as the description says, and each push comes. The requests are strict, so
// the tables of members have what the examples have.
func TestDescription(t *testing.T) {
	w := newWorld(t)
	g := w.connect()
	members := gamelink.Members()
	var messages []described
	named := map[string]bool{}
	for _, e := range examples(w.pinFor("admin", "1000", `{"server":true}`)) {
		g.next++
		request := envelope(e, g.next)
		if err := g.write(request); err != nil {
			t.Fatal(err)
		}
		messages = append(messages, described{e, stable(request), answerText(t, g.answer(g.next))})
		named[e.name()] = true
	}
	if diff := cmp.Diff(gamelink.Operations(), slices.Sorted(maps.Keys(named))); diff != "" {
		t.Errorf("the described requests are not those that are served (-):\n%s", diff)
	}
	pushes := map[string]string{}
	for target, push := range causePushes(w) {
		pushes[target] = answerText(t, push)
	}
	compare(t, pageFile, messagePage(messages, pushes))
	compare(t, asyncAPIFile, asyncAPI(t, messages, pushes, members))
}

func compare(t *testing.T, file string, content []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(content), string(got)); diff != "" {
		t.Errorf("%s is not what go test ./services/internal/face/gamelink -run TestDescription -update writes (-):\n%s", file, diff)
	}
}

func envelope(e example, id int) string {
	return fmt.Sprintf(`{"action":%q,"params":{"request_id":%d,"target":%q,"strict":true},"data":%s}`, e.action, id, e.target, e.data)
}

// answerText returns a message of the server as JSON, with values that change with each run replaced.
func answerText(t *testing.T, m received) string {
	t.Helper()
	head := fmt.Sprintf(`"meta":{"request_id":%d,"action":%q,"target":%q,"timestamp":1795320000123}`, m.Meta.ID, m.Meta.Action, m.Meta.Target)
	if len(m.Errors) == 0 {
		return stable("{" + head + `,"data":` + string(m.Data) + "}")
	}
	e := m.Errors[0]
	return fmt.Sprintf(`{%s,"errors":[{"number":%d,"status":%d,"title":%q,"detail":%q}]}`, head, e.Number, e.Status, e.Title, e.Detail)
}

// stable replaces what changes with each run.
func stable(text string) string {
	for pattern, with := range map[string]string{
		`"pin":"[^"]*"`: `"pin":"K7QX2M"`, `"jwt":"[^"]*"`: `"jwt":"eyJ…"`, `"refresh":"[^"]*"`: `"refresh":"r1.…"`,
		`"timestamp":\d{13}`: `"timestamp":1795320000123`, `"timestamp":\d{10}\b`: `"timestamp":1795320000`, `"muxy_id":"[^"]*"`: `"muxy_id":"t1"`,
	} {
		text = regexp.MustCompile(pattern).ReplaceAllLiteralString(text, with)
	}
	return text
}

// messagePage returns the page that lists the messages.
func messagePage(messages []described, pushes map[string]string) []byte {
	var page strings.Builder
	page.WriteString(`# The messages of GameLink

A game sends requests over a WebSocket to ` + "`/0.0.2/CLIENT_ID`" + ` of the listener ` + "`--gamelink-listen`" + `, and gets one response to
each. [The contract](contract.md#411-games) has the rules, [gamelink.yaml](gamelink.yaml) the same messages for machines,
as AsyncAPI 3.

- ` + "`request_id`" + ` is an integer from 0 to 65535, which the response repeats.
- A response has ` + "`data` or `errors`" + `; ` + "`number` and `status`" + ` of an error are the status that the same request has over HTTP.
- A member that a request does not have is ignored, and the log names it. With ` + "`\"strict\":true`" + ` in ` + "`params`" + ` the request is
  refused, and ` + "`detail`" + ` names the member: begin a new game with it.
- A push has the ` + "`request_id`" + ` 65535 and the action ` + "`update`" + `.

A test sends each request and writes this page: ` + "`go test ./services/internal/face/gamelink -run TestDescription -update`" + `.

## Requests
`)
	for _, m := range messages {
		fmt.Fprintf(&page, "\n### %s\n\n%s\n\n```json\n%s\n%s\n```\n", m.name(), m.does, shorten(m.request), shorten(m.answer))
	}
	page.WriteString("\n## Pushes\n")
	for _, target := range slices.Sorted(maps.Keys(pushes)) {
		fmt.Fprintf(&page, "\n### A push about %s\n\n%s\n\n```json\n%s\n```\n", target, pushDescriptions()[target], shorten(pushes[target]))
	}
	return []byte(page.String())
}

// shorten leaves the last zeros of the 32 results out.
func shorten(text string) string {
	return regexp.MustCompile(`(,0){8,}\]`).ReplaceAllString(text, ",…]")
}
