package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/state"
)

// State is the part of package state that the routes of state and configuration
// use.
type State interface {
	Read(ctx context.Context, c state.Caller, scopes ...state.Scope) ([]document.Document, error)
	Write(ctx context.Context, c state.Caller, scope state.Scope, e state.Edit) (document.Document, error)
	ReadViewers(ctx context.Context, c state.Caller, userIDs []string) (map[string]document.Document, error)
	WriteViewers(ctx context.Context, c state.Caller, edits map[string]state.Edit) error
	VisualizationID(ctx context.Context, c state.Caller) (string, error)
	ReadNamed(ctx context.Context, c state.Caller, id string) (document.Document, error)
	WriteNamed(ctx context.Context, c state.Caller, id string, body []byte, existing bool) error
}

// stateRoutes returns the routes of section 4.4.
func stateRoutes() []Route {
	routes := []Route{{Method: http.MethodGet, Path: "/all_state", access: anyone(), handle: (*API).getAllState}}
	routes = append(routes, documentRoutes("/channel_state", state.Channel, anyone(), staff())...)
	routes = append(routes, documentRoutes("/extension_state", state.Extension, anyone(), adminOrBackend())...)
	routes = append(routes, documentRoutes("/extension_hidden_state", state.ExtensionHidden, adminOrBackend(), adminOrBackend())...)
	routes = append(routes, documentRoutes("/viewer_state", state.Viewer, anyone(), anyone())...)
	return append(routes,
		Route{Method: http.MethodGet, Path: "/extension_viewer_state", access: anyone(), handle: (*API).getViewerState},
		Route{Method: http.MethodPost, Path: "/extension_viewer_state", access: anyone(), handle: replaceDocument(state.ExtensionViewer)},
		Route{
			Method: http.MethodPatch, Path: "/extension_viewer_state", access: anyone(), handle: (*API).patchViewerState,
			limit: viewerStateLimit,
		})
}

// documentRoutes are the three routes of one document.
func documentRoutes(path string, scope state.Scope, mayRead, mayWrite accessRule) []Route {
	return []Route{
		{Method: http.MethodGet, Path: path, access: mayRead, handle: readDocument(scope)},
		{Method: http.MethodPost, Path: path, access: mayWrite, handle: replaceDocument(scope)},
		{Method: http.MethodPatch, Path: path, access: mayWrite, handle: patchDocument(scope)},
	}
}

// stateCaller returns the caller in the terms of package state.
func (c *Caller) stateCaller() state.Caller {
	return state.Caller{
		Environment: string(c.Environment),
		Extension:   c.Extension.ClientID,
		Channel:     c.ChannelID,
		OpaqueID:    c.OpaqueID,
		UserID:      c.UserID,
	}
}

func readDocument(scope state.Scope) routeHandler {
	return func(a *API, w http.ResponseWriter, r *apiRequest) error {
		return a.readDocumentAs(w, r, r.caller.stateCaller(), scope)
	}
}

func (a *API) readDocumentAs(w http.ResponseWriter, r *apiRequest, owner state.Caller, scope state.Scope) error {
	found, err := a.config.State.Read(r.Context(), owner, scope)
	if err != nil {
		return err
	}
	setTag(w.Header(), found)
	writeJSON(w, http.StatusOK, bodyOf(found[0]))
	return nil
}

func replaceDocument(scope state.Scope) routeHandler {
	return writeDocument(scope, document.Replace)
}

func patchDocument(scope state.Scope) routeHandler {
	plain, game := writeDocument(scope, document.ParseChange), writeDocument(scope, document.GamePatch)
	return func(a *API, w http.ResponseWriter, r *apiRequest) error {
		if r.Context().Value(gamePatch{}) != nil {
			return game(a, w, r)
		}
		return plain(a, w, r)
	}
}

// gamePatch marks the context of requests whose patches are those of games.
type gamePatch struct{}

// WithGamePatch returns the context of a request whose body is a patch of a game.
func WithGamePatch(ctx context.Context) context.Context {
	return context.WithValue(ctx, gamePatch{}, true)
}

func writeDocument(scope state.Scope, parse func([]byte) (document.Change, error)) routeHandler {
	return func(a *API, w http.ResponseWriter, r *apiRequest) error {
		change, err := parse(r.body)
		if err != nil {
			return err
		}
		match, err := r.ifMatch()
		if err != nil {
			return err
		}
		var keys []*once.Key
		if r.Method == http.MethodPatch {
			if keys, err = a.requestKeys(r, ""); err != nil {
				return err
			}
		}
		var made document.Document
		err = a.editDocuments(r, 1, func(existing bool) (err error) {
			made, err = a.config.State.Write(r.Context(), r.caller.stateCaller(), scope, state.Edit{
				Change:   change,
				Match:    match,
				Existing: existing,
				Always:   scope != state.Viewer && scope != state.ExtensionViewer && scope != state.ExtensionHidden,
				MaxBytes: r.caller.Limits().DocumentBytes,
				Once:     once.First(keys),
			})
			return err
		})
		if made.Version > 0 { // else later edits are combined with it
			w.Header().Set("ETag", etagOf(made))
		}
		return writeDoneOnce(w, keys, err)
	}
}

// ifMatch returns the version that If-Match demands, nil when it demands none. Any
// document matches "*": one that was never written reads as {}.
func (r *apiRequest) ifMatch() (*uint64, error) {
	header := strings.TrimSpace(r.Header.Get("If-Match"))
	if header == "" || header == "*" {
		return nil, nil
	}
	version, err := strconv.ParseUint(strings.Trim(header, `"`), 10, 64)
	if err != nil {
		return nil, fault.New(fault.Mismatch, "If-Match names no version of this document")
	}
	return &version, nil
}

// setTag sets the headers of a read that its client may keep and ask for again.
func setTag(h http.Header, shown []document.Document) {
	h.Set("ETag", etagOf(shown...))
	h.Set("Cache-Control", "private, no-cache")
}

// etagOf returns the entity tag of an answer that shows these documents.
func etagOf(documents ...document.Document) string {
	tag := []byte{'"'}
	for i, d := range documents {
		if i > 0 {
			tag = append(tag, '.')
		}
		tag = strconv.AppendUint(tag, d.Version, 10)
	}
	return string(append(tag, '"'))
}

func bodyOf(d document.Document) json.RawMessage {
	if d.Body == nil {
		return json.RawMessage("{}")
	}
	return d.Body
}

func (a *API) getAllState(w http.ResponseWriter, r *apiRequest) error {
	return a.readTogether(w, r, []string{"extension", "channel", "viewer", "extension_viewer"},
		state.Extension, state.Channel, state.Viewer, state.ExtensionViewer)
}

// readTogether answers with several documents, by name, read at one moment.
func (a *API) readTogether(w http.ResponseWriter, r *apiRequest, names []string, scopes ...state.Scope) error {
	found, err := a.config.State.Read(r.Context(), r.caller.stateCaller(), scopes...)
	if err != nil {
		return err
	}
	named := map[string]json.RawMessage{}
	for i, name := range names {
		named[name] = bodyOf(found[i])
	}
	setTag(w.Header(), found)
	return writeValue(w, named)
}
