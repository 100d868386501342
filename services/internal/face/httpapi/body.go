package httpapi

import (
	"errors"
	"io"
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

const (
	// publicBodyBytes limits the body of a route without a credential: a thousand user
	// ids fit.
	publicBodyBytes = 32 << 10
	// firstBodyBytes is the size of the first buffer for a body. It doubles with what
	// arrives, whatever length was announced.
	firstBodyBytes = 4 << 10
)

// bodyReader reads one body into memory that it takes from a budget.
type bodyReader struct {
	leases *bodyLeases
	limit  int
	buf    []byte
}

// readAll returns the whole body. The caller keeps the leases as long as the body. A body
// over the limit is refused with fault.TooLarge, before it is read where its length is
// announced.
func (b *bodyReader) readAll(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > int64(b.limit) {
		return nil, errTooLarge(b.limit)
	}
	most := b.limit + 1 // so that one byte too many arrives
	if r.ContentLength >= 0 {
		most = int(r.ContentLength)
	}
	in := r.Body
	if r.ContentLength < 0 { // else the server cuts it off
		in = http.MaxBytesReader(w, r.Body, int64(b.limit))
	}
	for len(b.buf) < most {
		if len(b.buf) == cap(b.buf) {
			if err := b.grow(most); err != nil {
				return nil, err
			}
		}
		n, err := in.Read(b.buf[len(b.buf):cap(b.buf)])
		b.buf = b.buf[:len(b.buf)+n]
		if err == io.EOF && (r.ContentLength < 0 || len(b.buf) == most) {
			break
		}
		if err != nil {
			return nil, readFailure(err, b.limit)
		}
	}
	return b.buf, nil
}

// ReadMessage reads a message of a caller, of at most limit bytes, into memory from the budget of
// bodies. The caller of ReadMessage calls release when it no longer needs the message. What does
// not fit is refused with fault.TooLarge, fault.RateLimited or fault.Unavailable.
func (b *Budgets) ReadMessage(c *Caller, in io.Reader, limit int) (message []byte, release func(), err error) {
	leases := b.bodyLeases(c.Environment, c, limit)
	reader := &bodyReader{leases: &leases, limit: limit}
	if err := reader.readMessage(in); err != nil {
		leases.release()
		return nil, func() {}, err
	}
	return reader.buf, leases.release, nil
}

func (b *bodyReader) readMessage(in io.Reader) error {
	for {
		if len(b.buf) == cap(b.buf) {
			if err := b.grow(b.limit + 1); err != nil {
				return err
			}
		}
		n, err := in.Read(b.buf[len(b.buf):cap(b.buf)])
		switch b.buf = b.buf[:len(b.buf)+n]; {
		case len(b.buf) > b.limit:
			return errTooLarge(b.limit)
		case err == io.EOF: // readers return it as it is
			return nil
		case err != nil:
			return err
		}
	}
}

// grow doubles the buffer, to most at the most. Both buffers count until the old one is
// copied.
func (b *bodyReader) grow(most int) error {
	old := cap(b.buf)
	size := min(max(2*old, firstBodyBytes), most)
	if err := b.leases.forBuffer(size).Take(int64(size)); err != nil {
		return refusalOf(err, "Too many bytes of request bodies at once")
	}
	grown := make([]byte, len(b.buf), size)
	copy(grown, b.buf)
	b.buf = grown
	if old > 0 {
		b.leases.forBuffer(old).Give(int64(old))
	}
	return nil
}

func readFailure(err error, limit int) error {
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return errTooLarge(limit)
	}
	return fault.Wrap(fault.Invalid, err, "The body did not arrive whole")
}

func errTooLarge(limit int) error {
	return fault.Newf(fault.TooLarge, "The body is larger than %d bytes", limit)
}
