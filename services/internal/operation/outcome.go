package operation

import (
	"errors"
	"net/http"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Outcome describes a failure to a caller, on every face.
type Outcome struct {
	Status int // of HTTP
	Reason string
	// RetryAfter is the time after which the caller may retry, 0 where that helps nothing. Nothing
	// was stored.
	RetryAfter time.Duration
}

// keysRetryAfter is the time after which a key may find room: at most a minute passes until keys
// are old.
const keysRetryAfter = 5 * time.Second

// OutcomeOf returns what err means. Together with refusalStatus it is the one place that turns a
// kind into a status. A fixed reason replaces the failure's own, which then only the log shows.
func OutcomeOf(err error) Outcome {
	reason := ""
	if f, ok := errors.AsType[*fault.Error](err); ok {
		reason = f.Reason
	}
	switch kind := fault.KindOf(err); kind {
	case fault.RateLimited:
		return Outcome{http.StatusTooManyRequests, reason, time.Second}
	case fault.Unavailable:
		if once.IsFull(err) { // the caller can do something about it
			return Outcome{http.StatusServiceUnavailable, reason, keysRetryAfter}
		}
		return Outcome{http.StatusServiceUnavailable, "The service cannot take this request now; nothing was stored", time.Second}
	case fault.Storage:
		return Outcome{Status: http.StatusInternalServerError, Reason: "Storage failed; nothing was stored"}
	case fault.Uncertain:
		return Outcome{Status: http.StatusInternalServerError, Reason: "Storage failed; the outcome is unknown"}
	default:
		if status := refusalStatus(kind); status > 0 {
			return Outcome{Status: status, Reason: reason}
		}
		return Outcome{Status: http.StatusInternalServerError, Reason: "Internal error"}
	}
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
