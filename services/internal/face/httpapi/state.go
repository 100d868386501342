package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/state"
)

func readDocument(scope state.Scope) routeHandler {
	return func(a *API, w http.ResponseWriter, r *apiRequest) error {
		found, err := a.ReadDocuments(r.Context(), &r.Call, scope)
		if err != nil {
			return err
		}
		return writeDocument(w, found[0])
	}
}

func writeDocument(w http.ResponseWriter, d document.Document) error {
	setTag(w.Header(), []document.Document{d})
	writeJSON(w, http.StatusOK, operation.BodyOf(d))
	return nil
}

// changeDocument returns the handler of a change that parse reads from the body.
func changeDocument(scope state.Scope, parse func([]byte) (document.Change, error)) routeHandler {
	return func(a *API, w http.ResponseWriter, r *apiRequest) error {
		change, err := parse(r.Sent)
		if err != nil {
			return err
		}
		match, err := r.ifMatch()
		if err != nil {
			return err
		}
		made, err := a.WriteDocument(r.Context(), &r.Call, scope, change, match)
		if made.Version > 0 { // else later edits are combined with it
			w.Header().Set("ETag", etagOf(made))
		}
		return writeDone(w, err)
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

func (a *API) getAllState(w http.ResponseWriter, r *apiRequest) error {
	return a.readTogether(w, r, []string{"extension", "channel", "viewer", "extension_viewer"},
		state.Extension, state.Channel, state.Viewer, state.ExtensionViewer)
}

// readTogether answers with several documents, by name, read at one moment.
func (a *API) readTogether(w http.ResponseWriter, r *apiRequest, names []string, scopes ...state.Scope) error {
	found, err := a.ReadDocuments(r.Context(), &r.Call, scopes...)
	if err != nil {
		return err
	}
	named := map[string]json.RawMessage{}
	for i, name := range names {
		named[name] = operation.BodyOf(found[i])
	}
	setTag(w.Header(), found)
	return writeValue(w, named)
}
