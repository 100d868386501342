package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// postVoteConfig replaces the configuration of a poll. It ignores members that it does not know.
func (a *API) postVoteConfig(w http.ResponseWriter, r *apiRequest) error {
	body := decodeStrictly(r.body, "")
	id, in, keepVotes := body.text("id"), body.object("config"), body.boolean("keepVotes")
	change := voting.Change{Config: decodeConfig(in), KeepVotes: keepVotes}
	if err := cmp.Or(body.err, in.err); err != nil {
		return nameInvalid(w, err)
	}
	a.nameIgnored(w, r, slices.Concat(body.unknown(), in.unknown()))
	return a.changeVoteConfig(w, r, id, change, in)
}

// nameInvalid names the member that a body is refused for in a header, as the contract fixes the
// reason.
func nameInvalid(w http.ResponseWriter, err error) error {
	refused, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	member, named := strings.CutPrefix(refused.Reason, errInvalidBody().Error()+": ")
	if !named {
		return err
	}
	w.Header().Set(invalidHeader, member)
	return errInvalidBody()
}

// patchVoteConfig changes members of the configuration of a poll.
func (a *API) patchVoteConfig(w http.ResponseWriter, r *apiRequest) error {
	body := decodeStrictly(r.body, "")
	id, in, keepVotes := body.text("id"), body.object("config"), body.boolean("keepVotes")
	patch, err := decodePatch(in, func(in *jsonObject) any { return decodeConfig(in) })
	if err := cmp.Or(body.err, err, unknownMember(body)); err != nil {
		return err
	}
	return a.changeVoteConfig(w, r, id, voting.Change{Patch: patch, KeepVotes: keepVotes}, in)
}

// changeVoteConfig makes a change that the client wrote as in.
func (a *API) changeVoteConfig(w http.ResponseWriter, r *apiRequest, id string, change voting.Change, in *jsonObject) error {
	if err := checkStored(in.members["userData"]); err != nil {
		return err
	}
	id = cmp.Or(id, defaultID)
	if err := r.caller.checkOwner(id); err != nil {
		return err
	}
	if tags := r.ifMatchTags(); tags != nil {
		change.IfMatch = &voting.Precondition{Any: slices.Contains(tags, "*"), Versions: versionsOf(tags)}
	}
	keys, err := a.patchKeys(r, id)
	if err != nil {
		return err
	}
	if err := a.chargeNewPoll(r, id); err != nil {
		return err
	}
	version, known, err := a.config.Voting.Change(r.Context(), r.caller.poll(id), change, keys...)
	tag := ""
	if known {
		tag = versionTag(version)
	}
	return writeChanged(w, keys, tag, err)
}

// postRankConfig replaces the configuration of a question. It ignores members that it does not
// know.
func (a *API) postRankConfig(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.ownedID()
	if err != nil {
		return err
	}
	body := decodeStrictly(r.body, "")
	change := ranking.Change{Config: decodeRankConfig(body)}
	if body.err != nil {
		return body.err
	}
	a.nameIgnored(w, r, body.unknown())
	return a.changeRankConfig(w, r, id, change)
}

// patchRankConfig changes members of the configuration of a question.
func (a *API) patchRankConfig(w http.ResponseWriter, r *apiRequest) error {
	body := decodeStrictly(r.body, "")
	id, in := cmp.Or(body.text("id"), defaultID), body.object("config")
	patch, err := decodePatch(in, func(in *jsonObject) any { return decodeRankConfig(in) })
	if err := cmp.Or(body.err, err, unknownMember(body)); err != nil {
		return err
	}
	if len(id) > maxID {
		return fault.New(fault.Invalid, "Invalid id")
	}
	if err := r.caller.checkOwner(id); err != nil {
		return err
	}
	return a.changeRankConfig(w, r, id, ranking.Change{Patch: patch})
}

func (a *API) changeRankConfig(w http.ResponseWriter, r *apiRequest, id string, change ranking.Change) error {
	if tags := r.ifMatchTags(); tags != nil {
		change.IfMatch = &ranking.Precondition{Any: slices.Contains(tags, "*")}
		for _, tag := range tags {
			change.IfMatch.Digests = append(change.IfMatch.Digests, strings.Trim(tag, `"`))
		}
	}
	keys, err := a.patchKeys(r, id)
	if err != nil {
		return err
	}
	a.favourChannel(r.caller)
	digest, err := a.config.Ranking.Change(r.Context(), r.caller.question(id), change, keys...)
	tag := ""
	if digest != "" {
		tag = digestTag(digest)
	}
	return writeChanged(w, keys, tag, err)
}

// writeChanged answers a change with the entity tag of the configuration, "" where that is not
// known.
func writeChanged(w http.ResponseWriter, keys []*once.Key, tag string, err error) error {
	switch {
	case err != nil:
		w.Header().Del(ignoredHeader) // nothing has an effect
	case tag != "":
		w.Header().Set("ETag", tag)
	}
	return writeDoneOnce(w, keys, err)
}

// patchKeys returns the key of a request that patches; a POST has none.
func (a *API) patchKeys(r *apiRequest, id string) ([]*once.Key, error) {
	if r.Method != http.MethodPatch {
		return nil, nil
	}
	return a.requestKeys(r, id)
}

// decodePatch returns the JSON Merge Patch in an object, of a configuration that decode reads.
// A member other than null is as decode understands it, so that 1.0 is 1.
func decodePatch(in *jsonObject, decode func(*jsonObject) any) (json.RawMessage, error) {
	patch := map[string]json.RawMessage{}
	typed := &jsonObject{members: map[string]json.RawMessage{}, strict: true, path: in.path}
	for name, value := range in.members {
		if patch[name] = value; string(value) != "null" {
			typed.members[name] = value
		}
	}
	encoded, err := exactjson.Marshal(decode(typed))
	in.asked = typed.asked
	if err := cmp.Or(in.err, typed.err, err, unknownMember(in)); err != nil {
		return nil, err
	}
	var understood map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &understood); err != nil {
		return nil, err
	}
	for name := range typed.members {
		if value, ok := understood[name]; ok && value[0] != '{' {
			patch[name] = value
		}
	}
	return exactjson.Marshal(patch)
}

// unknownMember returns the refusal of an object with a member that nothing asked for, or nil.
func unknownMember(o *jsonObject) error {
	if unknown := o.unknown(); len(unknown) > 0 {
		return fault.Newf(fault.Invalid, "Invalid body: %s is unknown", cutName(unknown[0]))
	}
	return nil
}

// The header that names members without an effect, and what it names at most.
const (
	ignoredHeader   = "X-Ignored-Members"
	invalidHeader   = "X-Invalid-Member"
	maxIgnored      = 10
	maxIgnoredBytes = 64 // of a name, before it is escaped
)

// nameIgnored names members that have no effect in a header and in the log.
func (a *API) nameIgnored(w http.ResponseWriter, r *apiRequest, paths []string) {
	if len(paths) == 0 {
		return
	}
	names := make([]string, 0, maxIgnored)
	for _, path := range paths[:min(len(paths), maxIgnored)] {
		names = append(names, url.PathEscape(cutName(path)))
	}
	w.Header().Set(ignoredHeader, strings.Join(names, ", "))
	a.config.Logger.Info("members of a body were ignored", "request_id", r.x.id, "path", r.URL.Path,
		"extension", r.caller.Extension.ClientID, "members", names, "count", len(paths))
}

// cutName returns as much of a name as answers and logs have.
func cutName(name string) string {
	if len(name) <= maxIgnoredBytes {
		return name
	}
	end := maxIgnoredBytes
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}

// versionTag returns the entity tag of a version of a configuration.
func versionTag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// digestTag returns the entity tag of a configuration with a digest.
func digestTag(digest string) string { return `"` + digest + `"` }

// ifMatchTags returns the entity tags that If-Match names, nil without the header. Proxies that
// compress make tags weak.
func (r *apiRequest) ifMatchTags() (tags []string) {
	for _, header := range r.Header.Values("If-Match") {
		for tag := range strings.SplitSeq(header, ",") {
			if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag != "" {
				tags = append(tags, tag)
			}
		}
	}
	return tags
}

// versionsOf returns the versions that entity tags name: those of GET /vote_config, and of GET
// /poll, which end with a status. Other tags name none.
func versionsOf(tags []string) (versions []int64) {
	for _, tag := range tags {
		text, _, _ := strings.Cut(strings.Trim(tag, `"`), ".")
		if version, err := strconv.ParseInt(text, 10, 64); err == nil {
			versions = append(versions, version)
		}
	}
	return versions
}
