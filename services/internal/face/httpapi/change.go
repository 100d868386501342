package httpapi

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// postVoteConfig replaces the configuration of a poll. It ignores members that it does not know.
func (a *API) postVoteConfig(w http.ResponseWriter, r *apiRequest) error {
	body := operation.DecodeStrictly(r.Sent)
	id, in, keepVotes := body.Text("id"), body.Object("config"), body.Boolean("keepVotes")
	change := voting.Change{Config: operation.DecodeConfig(in), KeepVotes: keepVotes}
	if err := cmp.Or(body.Err, in.Err); err != nil {
		return operation.NameInvalid(err)
	}
	a.nameIgnored(w, r, slices.Concat(body.Unknown(), in.Unknown()))
	return a.changeVoteConfig(w, r, id, change, false, in)
}

// patchVoteConfig changes members of the configuration of a poll.
func (a *API) patchVoteConfig(w http.ResponseWriter, r *apiRequest) error {
	body := operation.DecodeStrictly(r.Sent)
	id, in, keepVotes, clearVotes := body.Text("id"), body.Object("config"), body.Boolean("keepVotes"), body.Boolean("clearVotes")
	patch, err := operation.DecodePatch(in, func(in *operation.Object) any { return operation.DecodeConfig(in) })
	if err := cmp.Or(body.Err, err, operation.UnknownMember(body)); err != nil {
		return err
	}
	return a.changeVoteConfig(w, r, id, voting.Change{Patch: patch, KeepVotes: keepVotes}, clearVotes, in)
}

// changeVoteConfig makes a change that the client wrote as in, and clears the votes if asked to.
func (a *API) changeVoteConfig(w http.ResponseWriter, r *apiRequest, id string, change voting.Change, clearVotes bool, in *operation.Object) error {
	if err := operation.CheckStored(in.JSON("userData")); err != nil {
		return err
	}
	id = cmp.Or(id, defaultID)
	if err := r.checkQueryID(id); err != nil {
		return err
	}
	if tags := r.ifMatchTags(); tags != nil {
		change.IfMatch = &voting.Precondition{Any: slices.Contains(tags, "*"), Versions: versionsOf(tags)}
	}
	if clearVotes {
		return writeDone(w, a.ClearPoll(r.Context(), &r.Call, id, change))
	}
	version, known, err := a.ChangePoll(r.Context(), &r.Call, id, change)
	tag := ""
	if known {
		tag = versionTag(version)
	}
	return writeChanged(w, tag, err)
}

// postRankConfig replaces the configuration of a question. It ignores members that it does not
// know.
func (a *API) postRankConfig(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.ownedID()
	if err != nil {
		return err
	}
	body := operation.DecodeStrictly(r.Sent)
	change := ranking.Change{Config: decodeRankConfig(body)}
	if body.Err != nil {
		return body.Err
	}
	a.nameIgnored(w, r, body.Unknown())
	return a.changeRankConfig(w, r, id, change)
}

// patchRankConfig changes members of the configuration of a question.
func (a *API) patchRankConfig(w http.ResponseWriter, r *apiRequest) error {
	body := operation.DecodeStrictly(r.Sent)
	id, in := cmp.Or(body.Text("id"), defaultID), body.Object("config")
	patch, err := operation.DecodePatch(in, func(in *operation.Object) any { return decodeRankConfig(in) })
	if err := cmp.Or(body.Err, err, operation.UnknownMember(body)); err != nil {
		return err
	}
	if len(id) > contract.MaxID {
		return fault.New(fault.Invalid, "Invalid id")
	}
	if err := r.checkQueryID(id); err != nil {
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
	digest, err := a.ChangeQuestion(r.Context(), &r.Call, id, change)
	tag := ""
	if digest != "" {
		tag = digestTag(digest)
	}
	return writeChanged(w, tag, err)
}

// writeChanged answers a change with the entity tag of the configuration, "" where that is not
// known.
func writeChanged(w http.ResponseWriter, tag string, err error) error {
	switch {
	case err != nil:
		w.Header().Del(ignoredHeader) // nothing has an effect
	case tag != "":
		w.Header().Set("ETag", tag)
	}
	return writeDone(w, err)
}

// The headers that name members without an effect, and one for which a body is refused.
const (
	ignoredHeader = "X-Ignored-Members"
	invalidHeader = "X-Invalid-Member"
)

// nameIgnored names members that have no effect in a header and in the log.
func (a *API) nameIgnored(w http.ResponseWriter, r *apiRequest, paths []string) {
	if len(paths) == 0 {
		return
	}
	names := make([]string, 0, contract.MaxIgnored)
	for _, path := range paths[:min(len(paths), contract.MaxIgnored)] {
		names = append(names, url.PathEscape(operation.CutName(path)))
	}
	w.Header().Set(ignoredHeader, strings.Join(names, ", "))
	a.Config.Logger.Info("members of a body were ignored", "request_id", r.x.ID, "path", r.URL.Path,
		"extension", r.Caller.Extension.ClientID, "members", names, "count", len(paths))
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
