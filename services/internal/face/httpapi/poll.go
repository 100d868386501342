package httpapi

import (
	"cmp"
	"context"
	"encoding/base64"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/schedule"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// PollLister yields the names of the streams that begin with a prefix and come after a
// name, ascending: at least those that had a chunk before the call.
type PollLister func(ctx context.Context, prefix, after string) iter.Seq2[string, error]

// pollRoutes returns the routes of section 4.1 that show polls.
func pollRoutes() []Route {
	return []Route{
		{Method: http.MethodGet, Path: "/poll", access: onlookers(), handle: (*API).getPoll},
		{Method: http.MethodGet, Path: "/polls", access: onlookers(), handle: (*API).getPolls, compress: true},
	}
}

func (a *API) getPoll(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	config, status, saved, err := a.config.Voting.Config(r.Context(), r.caller.poll(id))
	if err != nil {
		return err
	}
	if !saved {
		return fault.New(fault.NotFound, "The poll has no configuration")
	}
	a.favourChannel(r.caller)
	tag := `"` + strconv.FormatInt(config.Version, 10) + "." + string(status) + `"`
	writeTagged(w, r, tag, config.View(id, status).JSON())
	return nil
}

// writeTagged answers with a body and its entity tag, or that the client has that body.
func writeTagged(w http.ResponseWriter, r *apiRequest, tag string, body []byte) {
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "private, no-cache")
	if matchesTag(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	writeJSON(w, http.StatusOK, body)
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

const (
	defaultPolls = 100
	maxPolls     = 1000
	// pollsExamined limits the polls that one page of a list reads: viewers bring into
	// being as many as their quotas allow, and only a read tells which are configured.
	pollsExamined = 1000
	// namesExamined limits the names that one page goes through, most of them where
	// few begin as the request wants.
	namesExamined = 50_000
	// pollsAtOnce limits the reads of one request that are under way.
	pollsAtOnce = 16
)

// listedPoll is an element of the answer to GET /polls.
type listedPoll struct {
	Channel string `json:"channel"` // empty for a poll of the extension
	voting.PollView
}

// pollListing is a request for polls.
type pollListing struct {
	prefixes []string // of the names of streams, ascending
	after    string   // the name of a stream
	limit    int
	status   schedule.Status // empty: all
	id       string          // what ids begin with
	caller   *Caller
}

// getPolls lists configured polls in the order of the names of their streams. The cursor
// is such a name.
func (a *API) getPolls(w http.ResponseWriter, r *apiRequest) error {
	listing, err := r.pollListing()
	if err != nil {
		return err
	}
	polls, reached, err := a.namePolls(r.Context(), listing)
	if err != nil {
		return err
	}
	list, last := newListWriter(w, r, "polls"), ""
	for len(polls) > 0 && list.length < listing.limit {
		found, err := a.readPolls(r.Context(), polls[:min(pollsAtOnce, len(polls))])
		if err != nil {
			return err
		}
		for _, poll := range found {
			last, polls = polls[0].Stream(), polls[1:]
			if !listing.includes(poll) {
				continue
			}
			if err := list.add(poll); err != nil {
				return err
			}
			if list.length == listing.limit {
				break
			}
		}
	}
	if len(polls) == 0 {
		last = reached
	}
	if last != "" {
		return list.end(`,"next":"` + base64.RawURLEncoding.EncodeToString([]byte(last)) + `"`)
	}
	return list.end("")
}

// includes reports whether the listing shows what was read of a stream, nil for a poll that
// is not configured.
func (l pollListing) includes(poll *listedPoll) bool {
	return poll != nil && l.caller.mayRead(poll.ID) && (l.status == "" || poll.Status == l.status)
}

// pollListing reads the query. The polls of another channel, or with * those of the whole
// extension, are for its owners.
func (r *apiRequest) pollListing() (l pollListing, err error) {
	l.caller = r.caller
	channel, named := r.queryParameter("channel")
	if named && channel != r.caller.ChannelID && !adminOrBackend().allowsCaller(r.caller) {
		return l, fault.New(fault.Forbidden, "The JWT role is not allowed to perform this operation.")
	}
	if !named {
		channel = r.caller.ChannelID
	}
	if l.limit, err = r.positiveParameter("limit"); err != nil || l.limit > maxPolls {
		return l, fault.New(fault.Invalid, "Malformed limit parameter")
	}
	l.limit = cmp.Or(l.limit, defaultPolls)
	status, _ := r.queryParameter("status")
	switch l.status = schedule.Status(status); l.status {
	case "", schedule.Pending, schedule.Active, schedule.Expired:
	default:
		return l, fault.New(fault.Invalid, "Malformed status parameter")
	}
	l.id, _ = r.queryParameter("prefix")
	return l, l.setNames(r, channel)
}

// setNames sets which streams the listing goes through, and where it begins.
func (l *pollListing) setNames(r *apiRequest, channel string) error {
	environment, extension := string(r.caller.Environment), r.caller.Extension.ClientID
	if l.prefixes = []string{voting.StreamPrefix(environment, extension)}; channel != "*" {
		l.prefixes = nil
		for _, id := range []string{"", "global"} {
			poll := voting.Poll{Environment: environment, Extension: extension, Channel: channel, ID: id}
			l.prefixes = append(l.prefixes, poll.Siblings())
		}
	}
	cursor, _ := r.queryParameter("cursor")
	after, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(after) > 0 && !strings.HasPrefix(string(after), voting.StreamPrefix(environment, extension)) {
		return fault.New(fault.Invalid, "Malformed cursor parameter")
	}
	l.after = string(after)
	return nil
}

// namePolls returns the polls of a listing, whether or not they are configured. Where there
// are more than one page examines, reached is the last name that it went through.
func (a *API) namePolls(ctx context.Context, l pollListing) (polls []voting.Poll, reached string, err error) {
	examined := 0
	for _, prefix := range l.prefixes {
		for name, err := range a.config.PollLister(ctx, prefix, l.after) {
			if err != nil {
				return nil, "", fault.Wrap(fault.Unavailable, err, "listing polls failed")
			}
			if len(polls) == pollsExamined || examined == namesExamined {
				return polls, reached, nil
			}
			examined, reached = examined+1, name
			// An error is none here: other versions may name more than this one knows.
			if poll, err := voting.ParseStream(name); err == nil && strings.HasPrefix(poll.ID, l.id) {
				polls = append(polls, poll)
			}
		}
	}
	return polls, "", nil
}

// readPolls returns the polls as lists show them, nil for each that is not configured.
func (a *API) readPolls(ctx context.Context, polls []voting.Poll) ([]*listedPoll, error) {
	found := make([]*listedPoll, len(polls))
	group, ctx := errgroup.WithContext(ctx)
	for i, poll := range polls {
		group.Go(func() error {
			config, status, saved, err := a.config.Voting.Config(ctx, poll)
			if saved && err == nil {
				found[i] = &listedPoll{Channel: poll.Channel, PollView: config.View(poll.ID, status)}
			}
			return err
		})
	}
	return found, group.Wait()
}
