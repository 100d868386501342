package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/state"
)

// State is what the state and configuration routes need of package state.
type State interface {
	Read(ctx context.Context, c state.Caller, scopes ...state.Scope) ([]document.Document, error)
	Write(ctx context.Context, c state.Caller, scope state.Scope, e state.Edit) (document.Document, error)
	ReadViewers(ctx context.Context, c state.Caller, userIDs []string) (map[string]document.Document, error)
	WriteViewers(ctx context.Context, c state.Caller, edits map[string]state.Edit) error
	VisualizationID(ctx context.Context, c state.Caller) (string, error)
}

// stateRoutes are those of section 4.4.
func (a *API) stateRoutes() []Route {
	if a.config.State == nil {
		return nil
	}
	routes := []Route{{Method: http.MethodGet, Path: "/all_state", access: anyone(), handle: a.getAllState}}
	routes = append(routes, a.documentRoutes("/channel_state", state.Channel, staff(), staff())...)
	routes = append(routes, a.documentRoutes("/extension_state", state.Extension, adminOrBackend(), adminOrBackend())...)
	routes = append(routes, a.documentRoutes("/viewer_state", state.Viewer, anyone(), anyone())...)
	return append(routes,
		Route{Method: http.MethodGet, Path: "/extension_viewer_state", access: anyone(), handle: a.getViewerState},
		Route{Method: http.MethodPost, Path: "/extension_viewer_state", access: anyone(), handle: a.replace(state.ExtensionViewer)},
		Route{
			Method: http.MethodPatch, Path: "/extension_viewer_state", access: anyone(), handle: a.patchViewerState,
			limit: viewerStateLimit,
		})
}

// documentRoutes are the three routes of one document, which anyone may read.
func (a *API) documentRoutes(path string, scope state.Scope, post, patch access) []Route {
	return []Route{
		{Method: http.MethodGet, Path: path, access: anyone(), handle: a.read(scope)},
		{Method: http.MethodPost, Path: path, access: post, handle: a.replace(scope)},
		{Method: http.MethodPatch, Path: path, access: patch, handle: a.patch(scope)},
	}
}

// owner returns the caller as package state knows it.
func (c *Caller) owner() state.Caller {
	return state.Caller{
		Environment: string(c.Environment),
		Extension:   c.Extension.ClientID,
		Channel:     c.ChannelID,
		OpaqueID:    c.OpaqueID,
		UserID:      c.UserID,
	}
}

func (a *API) read(scope state.Scope) handler {
	return func(w http.ResponseWriter, r *request) error {
		return a.readAs(w, r, r.caller.owner(), scope)
	}
}

func (a *API) readAs(w http.ResponseWriter, r *request, owner state.Caller, scope state.Scope) error {
	found, err := a.config.State.Read(r.Context(), owner, scope)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", etag(found...))
	writeJSON(w, http.StatusOK, bodyOf(found[0]))
	return nil
}

func (a *API) replace(scope state.Scope) handler {
	return a.write(scope, document.Replace)
}

func (a *API) patch(scope state.Scope) handler {
	return a.write(scope, document.ParseChange)
}

func (a *API) write(scope state.Scope, parse func([]byte) (document.Change, error)) handler {
	return func(w http.ResponseWriter, r *request) error {
		change, err := parse(r.body)
		if err != nil {
			return err
		}
		match, err := r.match()
		if err != nil {
			return err
		}
		made, err := a.config.State.Write(r.Context(), r.caller.owner(), scope, state.Edit{
			Change:   change,
			Match:    match,
			MaxBytes: r.caller.Limits().DocumentBytes,
		})
		if made.Version > 0 { // else it was combined with later edits
			w.Header().Set("ETag", etag(made))
		}
		return done(w, err)
	}
}

// match returns the version that If-Match asks for, nil when it does not. Any
// document matches "*": one that was never written reads as {}.
func (r *request) match() (*uint64, error) {
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

// etag names the versions of the documents that an answer shows.
func etag(documents ...document.Document) string {
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

func (a *API) getAllState(w http.ResponseWriter, r *request) error {
	return a.readTogether(w, r, []string{"extension", "channel", "viewer", "extension_viewer"},
		state.Extension, state.Channel, state.Viewer, state.ExtensionViewer)
}

// readTogether answers with several documents of one moment, by name.
func (a *API) readTogether(w http.ResponseWriter, r *request, names []string, scopes ...state.Scope) error {
	found, err := a.config.State.Read(r.Context(), r.caller.owner(), scopes...)
	if err != nil {
		return err
	}
	named := map[string]json.RawMessage{}
	for i, name := range names {
		named[name] = bodyOf(found[i])
	}
	w.Header().Set("ETag", etag(found...))
	return encode(w, named)
}
