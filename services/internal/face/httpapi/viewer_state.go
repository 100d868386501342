package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/state"
)

// getViewerState reads the caller's own document or, for admin and backend,
// that of userID or those of user_ids.
func (a *API) getViewerState(w http.ResponseWriter, r *apiRequest) error {
	userIDs, several := r.queryParameter("user_ids")
	userID, one := r.queryParameter("userID")
	switch {
	case !several && !one:
		return readDocument(state.ExtensionViewer)(a, w, r)
	case !several:
		found, err := a.ReadViewer(r.Context(), &r.Call, userID)
		if err != nil {
			return err
		}
		return writeDocument(w, found)
	}
	if err := r.Caller.CheckReadsViewers(); err != nil {
		return err
	}
	ids := strings.FieldsFunc(userIDs, func(c rune) bool { return c == ',' })
	if len(ids) == 0 {
		return fault.New(fault.Invalid, "Malformed user_ids parameter")
	}
	// The browser SDK promises that ids of no user are left out.
	ids = slices.DeleteFunc(ids, func(id string) bool { return !operation.IsUserID(id) })
	found, err := a.ReadViewers(r.Context(), &r.Call, ids)
	if err != nil {
		return err
	}
	bodies := map[string]json.RawMessage{}
	for id, d := range found {
		bodies[id] = operation.BodyOf(d)
	}
	return writeValue(w, bodies)
}

// patchViewerState patches the caller's own document. An admin's object whose
// keys are all user ids is a map of patches instead.
func (a *API) patchViewerState(w http.ResponseWriter, r *apiRequest) error {
	if r.Caller.Role == operation.Admin {
		if patches, ok := adminMap(r.Sent); ok {
			return a.patchViewers(w, r, patches)
		}
		if limit := r.Caller.Limits().BodyBytes; len(r.Sent) > limit {
			return operation.ErrTooLarge(limit)
		}
	}
	return changeDocument(state.ExtensionViewer, document.ParseChange)(a, w, r)
}

// adminMap returns the patches by user id, and false for a body that is no
// such map. An empty object is an empty merge patch.
func adminMap(body []byte) (patches map[string]json.RawMessage, ok bool) {
	in := operation.DecodeObject(body)
	patches = in.All()
	if in.Err != nil || len(patches) == 0 {
		return nil, false
	}
	for id := range patches {
		if !operation.IsUserID(id) {
			return nil, false
		}
	}
	return patches, true
}

func (a *API) patchViewers(w http.ResponseWriter, r *apiRequest, patches map[string]json.RawMessage) error {
	changes := make(map[string]document.Change, len(patches))
	for id, patch := range patches {
		change, err := document.ParseChange(patch)
		if err != nil {
			return fault.Wrap(fault.Invalid, err, "user "+id+": "+err.Error())
		}
		changes[id] = change
	}
	return writeDone(w, a.WriteViewers(r.Context(), &r.Call, changes))
}
