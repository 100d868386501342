package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// EraseFunc erases a viewer from all data of an extension, under all ids of the viewer
// or only the given ones, and returns a report. The actor, if known, is the member of staff
// that asked for it.
type EraseFunc func(ctx context.Context, extension, actor string, viewer rewrite.Viewer, only bool) (report any, err error)

// NewEraseHandler returns the handler of POST /erase on the maintenance listener. It erases a
// viewer from both environments. It is not a route of the contract.
func NewEraseHandler(registry func() *tenant.Registry, now func() time.Time, erase EraseFunc, budgets *operation.Budgets) http.Handler {
	return newMaintenanceRoute(registry, now, budgets, func(ctx context.Context, caller *operation.Caller, body []byte) (any, error) {
		viewer, only, err := parseViewer(body)
		if err != nil {
			return nil, err
		}
		return erase(ctx, caller.Extension.ClientID, caller.Actor(), viewer, only)
	})
}

func parseViewer(body []byte) (viewer rewrite.Viewer, only bool, err error) {
	o := operation.DecodeObject(body)
	for _, name := range []string{"userID", "opaqueID"} {
		if id := o.Text(name); id != "" {
			viewer.IDs = append(viewer.IDs, id)
		}
	}
	viewer.DropData, only = o.Boolean("dropData"), o.Boolean("only")
	if o.Err == nil && len(viewer.IDs) == 0 {
		return viewer, only, fault.New(fault.Invalid, "userID and opaqueID are both missing")
	}
	return viewer, only, o.Err
}
