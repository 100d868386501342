package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// EraseFunc erases a viewer from all data of an extension and returns a report.
type EraseFunc func(ctx context.Context, extension string, asked Erasure) (report any, err error)

// Erasure names a viewer to erase.
type Erasure struct {
	// Actor is the member of staff that asks, if known.
	Actor string
	// IDs are those of the viewer, none of them empty. Only keeps other ids of the viewer.
	IDs  []string
	Only bool
	// DropData leaves out, too, whatever the viewer was free to write.
	DropData bool
}

// NewEraseHandler returns the handler of POST /erase on the maintenance listener. It erases a
// viewer from both environments. It is not a route of the contract.
func NewEraseHandler(registry func() *tenant.Registry, now func() time.Time, erase EraseFunc, budgets *operation.Budgets) http.Handler {
	return newMaintenanceRoute(registry, now, budgets, func(ctx context.Context, caller *operation.Caller, body []byte) (any, error) {
		asked, err := parseErasure(body)
		if err != nil {
			return nil, err
		}
		asked.Actor = caller.Actor()
		return erase(ctx, caller.Extension.ClientID, asked)
	})
}

func parseErasure(body []byte) (asked Erasure, err error) {
	o := operation.DecodeObject(body)
	for _, name := range []string{"userID", "opaqueID"} {
		if id := o.Text(name); id != "" {
			asked.IDs = append(asked.IDs, id)
		}
	}
	asked.DropData, asked.Only = o.Boolean("dropData"), o.Boolean("only")
	if o.Err == nil && len(asked.IDs) == 0 {
		return asked, fault.New(fault.Invalid, "userID and opaqueID are both missing")
	}
	return asked, o.Err
}
