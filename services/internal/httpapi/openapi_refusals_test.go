package httpapi_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// probe is a request that is refused, or answered in a way that the examples of
// the document do not show.
type probe struct {
	on     string // operations: a regular expression for the whole of "METHOD /path"
	query  string
	body   string
	status int
	reason string
	// as is who sends it, a validated admin unless set.
	as identity
	// match is the If-Match header.
	match string
	// config is the configuration of the poll "default", saved before.
	config string
	// polls is how many other polls there are.
	polls int
}

const (
	withID    = `(GET|POST|DELETE) /(vote|vote_logs|vote_modifier|accumulate|rank)|GET /vote_config`
	documents = `/(channel_state|extension_state|viewer_state|extension_viewer_state|config/channel|config/extension)`
	withBody  = `(POST|PATCH) .*`
	messages  = `POST /(broadcast|extension_broadcast|whisper_self)`
)

func probes() []probe {
	long := strings.Repeat("x", 70<<10)
	deep := strings.Repeat(`{"x":`, 6000) + "{}" + strings.Repeat("}", 6000)
	copies := strings.Repeat(`,{"op":"copy","from":"/a","path":"/b"}`, 70)
	var ids []string
	for i := range 1001 {
		ids = append(ids, fmt.Sprintf("%d", i))
	}
	return []probe{
		{on: withID, query: "?id=" + long[:257], body: `{"value":1,"user":"U5","add":1,"key":"k"}`, status: 400, reason: "Invalid id"},
		{on: withBody, body: strings.Repeat(long, 60), status: 413, reason: "The body is larger than {limit} bytes"},

		{on: "POST /(vote|vote_modifier|vote_config|rank|authtoken)", body: "{", status: 400, reason: "Invalid body"},
		{on: "POST /vote", body: `{"value":129}`, status: 400, reason: "Value out of bounds"},
		{on: "POST /vote", body: `{"count":31}`, status: 400, reason: "Count out of bounds"},
		{on: "POST /vote", config: `{"disabled":true}`, body: `{}`, status: 400, reason: "poll is closed"},
		{on: "POST /vote", config: `{"userIDVoting":true}`, body: `{}`, as: stranger(), status: 400, reason: "unacceptable vote"},
		{on: "GET /vote_logs", query: "?limit=0", status: 400, reason: "Malformed limit parameter"},
		{on: "GET /vote_logs", query: "?after=x", status: 400, reason: "Malformed after parameter"},
		{on: "GET /vote_config", status: 404},

		{on: "POST /vote_config", body: configOf(long[:65], `{}`), status: 400, reason: "id must be at most 64 characters"},
		{on: "POST /vote_config", body: configOf("a.b", `{}`), status: 400, reason: "id must not contain '.'"},
		{on: "POST /vote_config", body: configOf("a", `{"global":true}`), status: 400, reason: "id of a global poll must begin with 'global'"},
		{on: "POST /vote_config", body: configOf("a", `{"distinctOptionsPerUser":259}`), status: 400, reason: "distinctOptionsPerUser must be between 1 and 258"},
		{on: "POST /vote_config", body: configOf("a", `{"totalVotesPerUser":0}`), status: 400, reason: "totalVotesPerUser must be between 1 and 1024"},
		{on: "POST /vote_config", body: configOf("a", `{"votesPerOption":0}`), status: 400, reason: "votesPerOption must be greater than 0"},
		{on: "POST /vote_config", body: configOf("a", `{"prompt":"`+long[:257]+`"}`), status: 400, reason: "prompt must be at most 256 bytes"},
		{on: "POST /vote_config", body: configOf("a", `{"options":[""`+strings.Repeat(`,""`, 32)+`]}`), status: 400, reason: "options must have at most 32 entries"},
		{on: "POST /vote_config", body: configOf("a", `{"options":["`+long[:129]+`"]}`), status: 400, reason: "each of options must be at most 128 bytes"},
		{on: "POST /vote_config", body: configOf("a", `{"userData":"`+long[:1023]+`"}`), status: 400, reason: "userData must be at most 1024 bytes"},
		{on: "POST /vote_config", body: configOf("a", `{"startsAt":-1}`), status: 400, reason: "startsAt must not be negative"},
		{on: "POST /vote_config", body: configOf("a", `{"startsAt":2,"endsAt":1}`), status: 400, reason: "startsAt must not be after endsAt"},

		{on: "POST /accumulate", body: "[]", status: 400, reason: "Malformed json body"},
		{on: "POST /accumulate", body: `{"a":"` + long + `"}`, status: 413, reason: "The entry is larger than {limit} bytes"},
		{on: "GET /accumulate", query: "?start=x", status: 400, reason: "Malformed start parameter"},

		{on: "GET /rank", query: "?limit=10001", status: 400, reason: "Malformed limit parameter"},
		{on: "POST /rank", body: `{"key":""}`, status: 400, reason: "key must not be empty"},
		{on: "POST /rank", body: `{"key":"k"}`, as: identity{role: "viewer"}, status: 400, reason: "The JWT names no viewer"},
		{on: "POST /rank", body: `{"key":"` + long[:257] + `"}`, status: 200},

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
		{on: "GET /extension_viewer_state", query: "?userID=1", status: 200},
		{on: "GET /extension_viewer_state", query: "?user_ids=1,2", status: 200},
		{on: "GET /extension_viewer_state", query: "?userID=1", as: viewer(), status: 403, reason: "The JWT role is not allowed to perform this operation."},

		{on: messages, body: `{`, status: 400, reason: "Invalid body"},
		{on: messages, body: `{"event":"a"}`, status: 400, reason: "Invalid body"},
		{on: messages, body: `{"event":7,"data":7}`, status: 400, reason: "Invalid body"},
		{on: messages, body: `{"event":"","data":7}`, status: 400, reason: "event must have 1 to {number} bytes, and none of them *"},
		{on: messages, body: `{"event":"vote_update:p","data":7}`, status: 400, reason: "event is a name that the service itself uses"},
		{on: messages, body: `{"data":"` + long[:6000] + `"}`, status: 413, reason: "data is larger than {limit} bytes"},
		{on: "POST /whisper_self", body: `{"data":7}`, as: identity{role: "viewer"}, status: 400, reason: "The JWT names no viewer"},
		{on: "GET /events", query: "?topic=", status: 400, reason: "Invalid topic"},
		{on: "GET /events", query: "?topic=a*b", status: 400, reason: "Invalid topic"},
		{on: "GET /events", query: "?" + strings.Repeat("topic=a&", 33), status: 400, reason: "There must be at most {number} topics"},
		{on: "GET /events", query: "?topic=a&topic=b*", status: 200},
		{on: "GET /events", polls: 101, status: 400, reason: "There are more than {number} polls: name the topics"},

		{on: "POST /authtoken", body: `{"channel_id":"1","role":"viewer"}`, status: 400, reason: "extension_id or app_id is required"},
		{on: "POST /authtoken", body: `{"app_id":"none","channel_id":"1","role":"viewer"}`, status: 400, reason: "No such extension found"},
		{on: "POST /authtoken", body: `{"app_id":"other","extension_id":"ext","channel_id":"1","role":"viewer"}`, status: 400, reason: "extension_id and app_id are of different extensions"},
		{on: "POST /authtoken", body: `{"app_id":"ext"}`, status: 400, reason: "channel_id and role are required"},
		{on: "POST /authtoken", body: `{"app_id":"ext","channel_id":"1","role":"viewer","user_ids":["` + strings.Join(ids, `","`) + `"]}`, status: 400, reason: "Too many user_ids specified"},
		{on: "POST /authtoken", body: `{"app_id":"other","channel_id":"1","role":"viewer"}`, status: 400, reason: "The extension has no active sandbox secret"},
	}
}

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

func (c *contract) probe(t *testing.T, op operation, p probe) {
	a, prefix := newAPI(t), op.prefixes[0]
	caller := owner()
	if p.as.role != "" {
		caller = p.as
	}
	if p.config != "" {
		a.as(owner(), http.MethodPost, "/vote_config", `{"config":`+p.config+`}`).is(http.StatusOK)
	}
	for n := range p.polls {
		a.as(owner(), http.MethodPost, fmt.Sprint("/vote?id=", n), "{}").is(http.StatusOK)
	}
	got := a.send(op.method, prefix+op.path+p.query, p.body, "Authorization", caller.header(t), "If-Match", p.match)
	c.expect(t, op, got, p.status, p.reason)
}
