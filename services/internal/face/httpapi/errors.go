package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// outcome is the answer to a kind of failure. A fixed reason replaces the failure's
// own, which then only the log shows.
type outcome struct {
	status int
	fixed  string
	// retryAfter tells the caller to retry; nothing was stored.
	retryAfter bool
}

// outcomeOf and refusalStatus are the one place that turns a kind into a status.
func outcomeOf(kind fault.Kind) outcome {
	switch kind {
	case fault.RateLimited:
		return outcome{status: http.StatusTooManyRequests, retryAfter: true}
	case fault.Unavailable:
		return outcome{http.StatusServiceUnavailable, "The service cannot take this request now; nothing was stored", true}
	case fault.Storage:
		return outcome{status: http.StatusInternalServerError, fixed: "Storage failed; nothing was stored"}
	case fault.Uncertain:
		return outcome{status: http.StatusInternalServerError, fixed: "Storage failed; the outcome is unknown"}
	}
	if status := refusalStatus(kind); status > 0 {
		return outcome{status: status}
	}
	return outcome{status: http.StatusInternalServerError, fixed: "Internal error"}
}

// refusalStatus returns the status of a kind whose reason is sent, 0 for another one.
func refusalStatus(kind fault.Kind) int {
	switch kind {
	case fault.Invalid:
		return http.StatusBadRequest
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	case fault.Forbidden:
		return http.StatusForbidden
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Conflict:
		return http.StatusConflict
	case fault.Mismatch:
		return http.StatusPreconditionFailed
	case fault.Reused:
		return http.StatusUnprocessableEntity
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge
	}
	return 0
}

// writeError answers with what err means to the caller.
func writeError(w http.ResponseWriter, err error) {
	writeOutcome(w, outcomeOf(fault.KindOf(err)), err)
}

func writeOutcome(w http.ResponseWriter, o outcome, err error) {
	reason := o.fixed
	if f, ok := errors.AsType[*fault.Error](err); ok && reason == "" {
		reason = f.Reason
	}
	if o.retryAfter && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
	body, err := json.Marshal(map[string]string{"reason": reason})
	if err != nil {
		panic(err) // a string always encodes
	}
	writeJSON(w, o.status, body)
}

// sizedByServer is the length up to which net/http itself knows that of an answer. A longer
// one would be chunked.
const sizedByServer = 2 << 10

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header()["Content-Type"] = jsonContent()
	if len(body) > sizedByServer {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that went away is not our failure
}

func jsonContent() []string { return []string{"application/json"} }
