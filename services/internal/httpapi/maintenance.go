package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// NewMaintenanceHandler returns the handler of what only operators reach: the given routes,
// and profiles of processor time, memory and goroutines.
func NewMaintenanceHandler(routes map[string]http.Handler) http.Handler {
	mux := http.NewServeMux()
	for pattern, handler := range routes {
		mux.Handle(pattern, handler)
	}
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
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
