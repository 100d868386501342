package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/pprof"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Maintenance has the handlers of what works on the store of a process. Those that are nil are not
// served.
type Maintenance struct {
	Erase, Purge, Checkpoint, Export http.Handler
}

// NewUnavailableMaintenance returns handlers that answer 503, for a process that starts or stops:
// nothing was done, and the caller may repeat the request.
func NewUnavailableMaintenance(err error) Maintenance {
	unavailable := NewUnavailableHandler(err)
	return Maintenance{unavailable, unavailable, unavailable, unavailable}
}

// NewMaintenanceHandler returns the handler of what only operators reach: the maintenance of the
// store, and profiles of processor time, memory and goroutines.
func NewMaintenanceHandler(m Maintenance) http.Handler {
	return newOperatorMux(maintenanceRoutes(m))
}

func maintenanceRoutes(m Maintenance) map[string]http.Handler {
	return map[string]http.Handler{
		"POST /erase":              m.Erase,
		"POST /purge":              m.Purge,
		"POST /checkpoint":         m.Checkpoint,
		"GET /export":              m.Export,
		"GET /debug/pprof/":        http.HandlerFunc(pprof.Index),
		"GET /debug/pprof/profile": http.HandlerFunc(pprof.Profile),
		"GET /debug/pprof/trace":   http.HandlerFunc(pprof.Trace),
	}
}

// newOperatorMux serves the routes that have a handler, by their patterns.
func newOperatorMux(routes map[string]http.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, handler := range routes {
		if handler != nil {
			mux.Handle(pattern, handler)
		}
	}
	return mux
}

// OperatorRoutes returns the method and path of everything that the admin listener serves, and
// the listener for maintenance.
func OperatorRoutes() []string {
	routes := maintenanceRoutes(Maintenance{})
	maps.Copy(routes, adminRoutes(nil, nil, nil, nil))
	return slices.Sorted(maps.Keys(routes))
}

// maintainFunc does the work of a route for an extension and returns a report.
type maintainFunc func(ctx context.Context, caller *operation.Caller, body []byte) (report any, err error)

// newMaintenanceRoute returns the handler of a route that demands a production token of a
// backend or a validated admin, and that may take long.
func newMaintenanceRoute(registry func() *tenant.Registry, now func() time.Time, budgets *operation.Budgets, maintain maintainFunc) http.Handler {
	verifier := operation.NewVerifier(tenant.Production, registry, now)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		report, err := maintainFor(w, r, verifier, budgets, maintain)
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

func maintainFor(w http.ResponseWriter, r *http.Request, verifier *operation.CredentialVerifier, budgets *operation.Budgets, maintain maintainFunc) (report any, err error) {
	caller, err := verifier.VerifyOperator(r.Header.Get("Authorization"), operation.NamesRemoteClient(r.Header), operation.AdminOrBackend())
	if err != nil {
		return nil, err
	}
	leases := budgets.BodyLeases(tenant.Production, caller, contract.MaxPublicBody)
	defer leases.Release()
	body, err := leases.ReadAll(limitReader(w, r, contract.MaxPublicBody), r.ContentLength)
	if err != nil {
		return nil, err
	}
	// It takes as long as reading all that the extension has.
	if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	return maintain(r.Context(), caller, body)
}
