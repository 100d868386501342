package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// outcome is how a kind of failure looks from outside. A fixed reason replaces
// the failure's own, which then is for the log alone.
type outcome struct {
	status int
	fixed  string
	// retryAfter says that nothing was stored and that the caller may try again.
	retryAfter bool
}

// outcomeOf is the one place that turns a kind into a status.
func outcomeOf(kind fault.Kind) outcome {
	switch kind {
	case fault.Invalid:
		return outcome{status: http.StatusBadRequest}
	case fault.Unauthenticated:
		return outcome{status: http.StatusUnauthorized}
	case fault.Forbidden:
		return outcome{status: http.StatusForbidden}
	case fault.NotFound:
		return outcome{status: http.StatusNotFound}
	case fault.MethodNotAllowed:
		return outcome{status: http.StatusMethodNotAllowed}
	case fault.Mismatch:
		return outcome{status: http.StatusPreconditionFailed}
	case fault.TooLarge:
		return outcome{status: http.StatusRequestEntityTooLarge}
	case fault.RateLimited:
		return outcome{status: http.StatusTooManyRequests, retryAfter: true}
	case fault.Unavailable:
		return outcome{http.StatusServiceUnavailable, "The service cannot take this request now; nothing was stored", true}
	case fault.Storage:
		return outcome{status: http.StatusInternalServerError, fixed: "Storage failed; nothing was stored"}
	case fault.Uncertain:
		return outcome{status: http.StatusInternalServerError, fixed: "Storage failed; the outcome is unknown"}
	}
	return outcome{status: http.StatusInternalServerError, fixed: "Internal error"}
}

// writeError answers with what err means to the caller.
func writeError(w http.ResponseWriter, err error) {
	o := outcomeOf(fault.KindOf(err))
	reason := o.fixed
	if f, ok := errors.AsType[*fault.Error](err); ok && reason == "" {
		reason = f.Reason
	}
	if o.retryAfter {
		w.Header().Set("Retry-After", "1")
	}
	body, err := json.Marshal(map[string]string{"reason": reason})
	if err != nil {
		panic(err) // a string always encodes
	}
	writeJSON(w, o.status, body)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header()["Content-Type"] = jsonContent()
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that went away is not our failure
}

func jsonContent() []string { return []string{"application/json"} }
