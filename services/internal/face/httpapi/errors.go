package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

// writeError answers with what err means to the caller.
func writeError(w http.ResponseWriter, err error) {
	o := operation.OutcomeOf(err)
	if member, ok := errors.AsType[operation.InvalidMember](err); ok {
		w.Header().Set(invalidHeader, string(member))
	}
	if o.RetryAfter > 0 && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", strconv.Itoa(int(o.RetryAfter.Seconds())))
	}
	writeReason(w, o.Status, o.Reason)
}

func writeReason(w http.ResponseWriter, status int, reason string) {
	body, err := json.Marshal(map[string]string{"reason": reason})
	if err != nil {
		panic(err) // a string always encodes
	}
	writeJSON(w, status, body)
}

// sizedByServer is the length up to which net/http itself knows that of an answer. A longer
// one would be chunked.
const sizedByServer = 2 << 10

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header()["Content-Type"] = jsonContent()
	writeBody(w, status, body)
}

// writeBody writes a body of the type that the header has.
func writeBody(w http.ResponseWriter, status int, body []byte) {
	if len(body) > sizedByServer {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that went away is not our failure
}

func jsonContent() []string { return []string{"application/json"} }
