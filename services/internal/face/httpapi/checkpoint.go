package httpapi

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// CheckpointFunc copies the store of a process and calls use with the folder of the copy, which
// it removes when use returns. The context of use is done when the copy has to go, and the error
// says why.
type CheckpointFunc func(ctx context.Context, use func(ctx context.Context, folder string)) error

// CheckpointLine is a line of the answer to POST /checkpoint: the first has the folder. It is
// there until the caller hangs up, or until a second line has the reason for which it went.
type CheckpointLine struct {
	Folder string `json:"folder,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// NewCheckpointHandler returns the handler of POST /checkpoint on the maintenance listener. A
// checkpoint holds what all extensions have stored, so the token is the operator's, and no
// credential of an extension is accepted. It is not a route of the contract.
func NewCheckpointHandler(token string, checkpoint CheckpointFunc) http.Handler {
	want := []byte("Bearer " + token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			writeError(w, fault.New(fault.Unauthenticated, "The operator's token is missing or not that of this process"))
			return
		}
		begun := false
		write := func(line CheckpointLine) {
			_ = json.NewEncoder(w).Encode(line) // a client that is gone ends the context
			_ = http.NewResponseController(w).Flush()
		}
		err := checkpoint(r.Context(), func(ctx context.Context, folder string) {
			begun = true
			if http.NewResponseController(w).SetWriteDeadline(time.Time{}) != nil {
				return
			}
			w.Header().Set("Content-Type", "application/x-ndjson")
			write(CheckpointLine{Folder: folder})
			<-ctx.Done()
		})
		switch {
		case err != nil && !begun:
			writeError(w, err)
		case err != nil:
			write(CheckpointLine{Reason: err.Error()})
		}
	})
}
