package httpapi

import (
	"context"
	"net/http"
	"strconv"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/roster"
)

// Roster is the part of package roster that its route uses.
type Roster interface {
	Note(ctx context.Context, r roster.Roster, userID string, shared bool) error
	List(ctx context.Context, r roster.Roster, from uint64) (roster.Page, error)
}

// rosterRoutes returns the route of the viewers that share their user id.
func rosterRoutes() []Route {
	return []Route{{Method: http.MethodGet, Path: "/user_ids", access: allowRoles(Admin, Backend), handle: (*API).getUserIDs}}
}

func (c *Caller) roster() roster.Roster {
	return roster.Roster{Environment: string(c.Environment), Extension: c.Extension.ClientID}
}

// listedUser is an element of the answer to GET /user_ids.
type listedUser struct {
	ID string `json:"twitch_id"`
}

func (a *API) getUserIDs(w http.ResponseWriter, r *apiRequest) error {
	var from uint64
	if cursor, _ := r.queryParameter("cursor"); cursor != "" {
		var err error
		if from, err = strconv.ParseUint(cursor, 10, 63); err != nil {
			return fault.New(fault.Invalid, "Malformed cursor parameter")
		}
	}
	page, err := a.config.Roster.List(r.Context(), r.caller.roster(), from)
	if err != nil {
		return err
	}
	answer := struct {
		Next    string       `json:"next"`
		Results []listedUser `json:"results"`
	}{strconv.FormatUint(page.Next, 10), make([]listedUser, len(page.UserIDs))}
	for i, id := range page.UserIDs {
		answer.Results[i].ID = id
	}
	return writeValue(w, answer)
}

// limitedViewers is the number of viewers that an environment does not note again with each
// request. One takes some 200 bytes.
const limitedViewers = 1 << 15

// notedViewers remembers which viewers have been noted, and as what.
type notedViewers struct {
	shared *lru.Cache[notedViewer, bool]
}

type notedViewer struct{ extension, userID string }

func newNotedViewers() *notedViewers {
	shared, err := lru.New[notedViewer, bool](limitedViewers)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return &notedViewers{shared}
}

// noteViewer returns what notes the caller once its request succeeds, nil where nothing is
// to do. The request is answered whether or not that works: the next one repeats it.
func (a *API) noteViewer(r *apiRequest) func() {
	c := r.caller
	if a.config.Roster == nil || c == nil || c.UserID == "" || c.Role == "" {
		return nil
	}
	viewer := notedViewer{c.Extension.ClientID, c.UserID}
	if shared, known := a.noted.shared.Get(viewer); known && shared == !c.Unlinked {
		return nil
	}
	return func() {
		if err := a.noteCaller(r); err != nil {
			a.config.Logger.Warn("a viewer was not noted; the next request repeats it", "error", err)
		}
	}
}

// noteCaller notes the caller, whatever this process remembers: another may have noted
// something else.
func (a *API) noteCaller(r *apiRequest) error {
	c := r.caller
	if a.config.Roster == nil || c.UserID == "" {
		return nil
	}
	viewer := notedViewer{c.Extension.ClientID, c.UserID}
	err := a.config.Roster.Note(r.Context(), c.roster(), c.UserID, !c.Unlinked)
	if err == nil {
		a.noted.shared.Add(viewer, !c.Unlinked)
		r.x.onSuccess = nil
	}
	return err
}
