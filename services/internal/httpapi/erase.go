package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Erase erases a viewer from everything an extension has, with all other ids of the
// viewer or only those that are given, and returns a report.
type Erase func(ctx context.Context, extension string, viewer stream.Viewer, only bool) (report any, err error)

// NewErase returns what answers POST /erase on the admin listener: it erases a viewer
// for the bearer of a backend's or a validated admin's token of production, from
// both environments. It is no route of the contract.
func NewErase(registry func() *tenant.Registry, now func() time.Time, erase Erase) http.Handler {
	verifier := newVerifier(tenant.Production, registry, now)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		report, err := eraseFor(w, r, verifier, erase)
		if err != nil {
			writeError(w, err)
			return
		}
		body, err := json.Marshal(report)
		if err != nil {
			panic(err) // numbers and strings always encode
		}
		writeJSON(w, http.StatusOK, body)
	})
}

func eraseFor(w http.ResponseWriter, r *http.Request, verifier *verifier, erase Erase) (report any, err error) {
	caller, err := verifier.verify(r.Header.Get("Authorization"))
	if err != nil {
		return nil, err
	}
	if !adminOrBackend().allows(caller) {
		return nil, fault.New(fault.Forbidden, "The JWT role is not allowed to perform this operation.")
	}
	body, err := readBody(w, r, publicBodyBytes)
	if err != nil {
		return nil, err
	}
	viewer, only, err := parseViewer(body)
	if err != nil {
		return nil, err
	}
	// It takes as long as reading all that the extension has.
	if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	return erase(r.Context(), caller.Extension.ClientID, viewer, only)
}

func parseViewer(body []byte) (viewer stream.Viewer, only bool, err error) {
	o := decodeObject(body)
	for _, name := range []string{"userID", "opaqueID"} {
		if id := o.text(name); id != "" {
			viewer.IDs = append(viewer.IDs, id)
		}
	}
	viewer.DropData, only = o.boolean("dropData"), o.boolean("only")
	if o.err == nil && len(viewer.IDs) == 0 {
		return viewer, only, fault.New(fault.Invalid, "userID and opaqueID are both missing")
	}
	return viewer, only, o.err
}
