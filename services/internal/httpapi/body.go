package httpapi

import (
	"errors"
	"io"
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// publicBodyBytes bounds the body of a route without a credential, where there
// is no extension whose limits could say otherwise.
const publicBodyBytes = 256 << 10

// readBody reads the whole body. One over the limit is refused with
// fault.TooLarge, before it is read where its length is announced.
func readBody(w http.ResponseWriter, r *http.Request, limit int) ([]byte, error) {
	if r.ContentLength > int64(limit) {
		return nil, errTooLarge(limit)
	}
	if r.ContentLength >= 0 {
		body := make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, body)
		return body, readFailure(err, limit)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(limit)))
	return body, readFailure(err, limit)
}

func readFailure(err error, limit int) error {
	if err == nil {
		return nil
	}
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return errTooLarge(limit)
	}
	return fault.Wrap(fault.Invalid, err, "The body did not arrive whole")
}

func errTooLarge(limit int) error {
	return fault.Newf(fault.TooLarge, "The body is larger than %d bytes", limit)
}
