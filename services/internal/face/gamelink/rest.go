package gamelink

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
)

// recorder takes the answer of the API.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// call has the API answer a request of the connection's identity, or of a context of inChannel. The answer is a status
// below 400 and a body, or an error with the reason.
func (c *connection) call(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	credential, err := c.credentialFor(ctx)
	if err != nil {
		return nil, err
	}
	encoded := []byte(nil)
	switch body := body.(type) {
	case nil:
	case json.RawMessage:
		encoded = body
	default:
		if encoded, err = exactjson.Marshal(body); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.server.options.Base+path, bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	r.RemoteAddr = c.request.RemoteAddr
	r.Header.Set("Authorization", credential)
	if forwarded := c.request.Header.Values("X-Forwarded-For"); len(forwarded) > 0 {
		r.Header["X-Forwarded-For"] = forwarded
	}
	answer := &recorder{header: http.Header{}}
	c.server.options.API.ServeHTTP(answer, r)
	if answer.status == http.StatusUnauthorized {
		c.end(closedRevoked, "the credential has ended")
	}
	if answer.status >= http.StatusBadRequest {
		var refused struct{ Reason string }
		_ = json.Unmarshal(answer.body.Bytes(), &refused) // it has one, but for one route
		return nil, refuse(answer.status, refused.Reason)
	}
	return answer.body.Bytes(), nil
}

// isStatus reports whether an error is a refusal with a status.
func isStatus(err error, status int) bool {
	refused, ok := err.(*gameError) //nolint:errorlint // call returns it as it is
	return ok && refused.status == status
}
