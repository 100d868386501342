package httpapi

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

func (a *API) getPoll(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	view, err := a.ReadPoll(r.Context(), &r.Call, id)
	if err != nil {
		return err
	}
	tag := strconv.FormatInt(view.Version, 10) + "." + string(view.Status)
	if view.VotedVersion != 0 {
		tag += "." + strconv.FormatInt(view.VotedVersion, 10)
	}
	writeTagged(w, r, `"`+tag+`"`, "private, no-cache", view.JSON())
	return nil
}

// writeTagged answers with a body and its entity tag, or that the client has that body, and what
// caches may do with it.
func writeTagged(w http.ResponseWriter, r *apiRequest, tag, caching string, body []byte) {
	w.Header()["Content-Type"] = jsonContent()
	writeTaggedBody(w, r, tag, caching, body)
}

// writeTaggedBody is writeTagged for a body of the type that the header has.
func writeTaggedBody(w http.ResponseWriter, r *apiRequest, tag, caching string, body []byte) {
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", caching)
	if matchesTag(r.Header.Values("If-None-Match"), tag) {
		delete(w.Header(), "Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	writeBody(w, http.StatusOK, body)
}

// matchesTag reports whether If-None-Match names a tag. A proxy that compresses may have
// made the tag weak.
func matchesTag(headers []string, tag string) bool {
	for _, header := range headers {
		for candidate := range strings.SplitSeq(header, ",") {
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			if candidate == tag || candidate == "*" {
				return true
			}
		}
	}
	return false
}

// getPolls lists configured polls in the order of the names of their streams.
func (a *API) getPolls(w http.ResponseWriter, r *apiRequest) error {
	listing, err := r.pollListing()
	if err != nil {
		return err
	}
	list := newListWriter(w, r, "polls")
	next, err := a.ListPolls(r.Context(), &r.Call, listing, func(poll *operation.ListedPoll) error { return list.add(poll) })
	if err != nil {
		return err
	}
	if next != "" {
		return list.end(`,"next":"` + next + `"`)
	}
	return list.end("")
}

// pollListing reads the query. The cursor is the name of a stream.
func (r *apiRequest) pollListing() (l operation.PollListing, err error) {
	var named bool
	if l.Channel, named = r.queryParameter("channel"); !named {
		l.Channel = r.Caller.ChannelID
	}
	if err := r.Caller.CheckLists(l.Channel); err != nil {
		return l, err
	}
	if l.Limit, err = r.positiveParameter("limit"); err != nil {
		return l, err
	}
	l.Limit = cmp.Or(l.Limit, contract.DefaultPolls)
	status, _ := r.queryParameter("status")
	l.Status = contract.Status(status)
	l.Prefix, _ = r.queryParameter("prefix")
	cursor, _ := r.queryParameter("cursor")
	after, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return l, operation.ErrCursor()
	}
	l.After = string(after)
	return l, nil
}
