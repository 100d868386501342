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

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// NewMaintenanceHandler returns the handler of what only operators reach: the erasure of viewers
// and the purge of polls, if there is a store, and profiles of processor time, memory and
// goroutines.
func NewMaintenanceHandler(erase, purge http.Handler) http.Handler {
	return newOperatorMux(maintenanceRoutes(erase, purge))
}

func maintenanceRoutes(erase, purge http.Handler) map[string]http.Handler {
	return map[string]http.Handler{
		"POST /erase":              erase,
		"POST /purge":              purge,
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
	routes := maintenanceRoutes(nil, nil)
	maps.Copy(routes, adminRoutes(nil, nil, nil, nil))
	return slices.Sorted(maps.Keys(routes))
}

// maintainFunc does the work of a route for an extension and returns a report.
type maintainFunc func(ctx context.Context, caller *Caller, body []byte) (report any, err error)

// newMaintenanceRoute returns the handler of a route that demands a production token of a
// backend or a validated admin, and that may take long.
func newMaintenanceRoute(registry func() *tenant.Registry, now func() time.Time, budgets *Budgets, maintain maintainFunc) http.Handler {
	verifier := newVerifier(tenant.Production, registry, now)
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

func maintainFor(w http.ResponseWriter, r *http.Request, verifier *credentialVerifier, budgets *Budgets, maintain maintainFunc) (report any, err error) {
	verified, err := verifier.verifyHeader(r.Header.Get("Authorization"))
	if err != nil {
		return nil, err
	}
	caller := verified.caller
	if err := caller.checkSampleKey(r.Header); err != nil {
		return nil, err
	}
	if !adminOrBackend().allowsCaller(caller) {
		return nil, fault.New(fault.Forbidden, "The JWT role is not allowed to perform this operation.")
	}
	leases := budgets.bodyLeases(tenant.Production, caller, publicBodyBytes)
	defer leases.release()
	body, err := (&bodyReader{leases: &leases, limit: publicBodyBytes}).readAll(w, r)
	if err != nil {
		return nil, err
	}
	// It takes as long as reading all that the extension has.
	if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	return maintain(r.Context(), caller, body)
}
