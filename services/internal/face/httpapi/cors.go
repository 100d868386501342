package httpapi

import (
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Cross-origin headers that are the same on every answer.
const (
	corsMethods = "GET, POST, PATCH, DELETE"
	corsHeaders = "authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, x-request-id"
	corsExpose  = "ETag, Idempotency-Replayed, Retry-After, X-Ignored-Members, X-Invalid-Member, X-Request-Id"
	corsMaxAge  = "7200" // seconds, the most that browsers honour
)

// allowAnyExtension sets what an answer without a verified credential allows:
// what any registered extension does.
func allowAnyExtension(h http.Header, origin string, environment tenant.Environment, registry *tenant.Registry) {
	h["Vary"] = []string{"Origin"}
	if origin == "" {
		return
	}
	h.Set("Access-Control-Expose-Headers", corsExpose)
	if registry.AllowsOrigin(environment, origin) {
		h.Set("Access-Control-Allow-Origin", origin)
	}
}

// allowEveryone sets what an answer that is the same for everyone allows. It does not vary, so
// that caches keep one for all origins.
func allowEveryone(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", corsExpose)
}

// allowCaller narrows that to what the caller's extension allows.
func allowCaller(h http.Header, origin string, c *operation.Caller) {
	if origin != "" && !c.Extension.AllowsOrigin(c.Environment, origin) {
		h.Del("Access-Control-Allow-Origin")
	}
}

// answerPreflight answers an OPTIONS request on a known route.
func answerPreflight(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
}
