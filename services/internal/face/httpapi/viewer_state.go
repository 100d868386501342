package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/state"
)

// viewerStateLimit is larger for admins, which may send a map of many viewers.
func viewerStateLimit(c *Caller) int {
	if c.Role == Admin {
		return c.Limits().AdminMapBytes
	}
	return c.Limits().BodyBytes
}

// getViewerState reads the caller's own document or, for admin and backend,
// that of userID or those of user_ids.
func (a *API) getViewerState(w http.ResponseWriter, r *apiRequest) error {
	owner := r.caller.stateCaller()
	userIDs, several := r.queryParameter("user_ids")
	userID, one := r.queryParameter("userID")
	if !several && !one {
		return a.readDocumentAs(w, r, owner, state.ExtensionViewer)
	}
	if r.caller.Role != Admin && r.caller.Role != Backend {
		return fault.New(fault.Forbidden, "The JWT role is not allowed to perform this operation.")
	}
	if !several {
		if owner.UserID = userID; !isUserID(userID) {
			return fault.New(fault.Invalid, "Malformed userID parameter")
		}
		return a.readDocumentAs(w, r, owner, state.ExtensionViewer)
	}
	ids := strings.FieldsFunc(userIDs, func(c rune) bool { return c == ',' })
	if len(ids) == 0 {
		return fault.New(fault.Invalid, "Malformed user_ids parameter")
	}
	// The browser SDK promises that ids of no user are left out.
	ids = slices.DeleteFunc(ids, func(id string) bool { return !isUserID(id) })
	found, err := a.config.State.ReadViewers(r.Context(), owner, ids)
	if err != nil {
		return err
	}
	bodies := map[string]json.RawMessage{}
	for id, d := range found {
		bodies[id] = bodyOf(d)
	}
	return writeValue(w, bodies)
}

// patchViewerState patches the caller's own document. An admin's object whose
// keys are all user ids is a map of patches instead.
func (a *API) patchViewerState(w http.ResponseWriter, r *apiRequest) error {
	if r.caller.Role == Admin {
		if patches, ok := adminMap(r.body); ok {
			return a.patchViewers(w, r, patches)
		}
		if limit := r.caller.Limits().BodyBytes; len(r.body) > limit {
			return errTooLarge(limit)
		}
	}
	return patchDocument(state.ExtensionViewer)(a, w, r)
}

// adminMap returns the patches by user id, and false for a body that is no
// such map. An empty object is an empty merge patch.
func adminMap(body []byte) (map[string]json.RawMessage, bool) {
	patches := decodeObject(body)
	if patches.err != nil || len(patches.members) == 0 {
		return nil, false
	}
	for id := range patches.members {
		if !isUserID(id) {
			return nil, false
		}
	}
	return patches.members, true
}

func (a *API) patchViewers(w http.ResponseWriter, r *apiRequest, patches map[string]json.RawMessage) error {
	keys, err := a.requestKeys(r, "")
	if err != nil {
		return err
	}
	edits := map[string]state.Edit{}
	for id, patch := range patches {
		change, err := document.ParseChange(patch)
		if err != nil {
			return fault.Wrap(fault.Invalid, err, "user "+id+": "+err.Error())
		}
		edits[id] = state.Edit{Change: change, MaxBytes: r.caller.Limits().DocumentBytes, Once: once.First(keys)}
	}
	return writeDoneOnce(w, keys, a.editDocuments(r, len(edits), func(existing bool) error {
		for id, edit := range edits {
			edit.Existing = existing
			edits[id] = edit
		}
		return a.config.State.WriteViewers(r.Context(), r.caller.stateCaller(), edits)
	}))
}

// isUserID reports whether s is a shared user id: a decimal string (section
// 2.8).
func isUserID(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "0123456789") == ""
}
