package operation

import (
	"errors"
	"io"
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
)

// firstBodyBytes is the size of the first buffer for a body. It doubles with what
// arrives, whatever length was announced.
const firstBodyBytes = 4 << 10

// bodyReader reads one body into memory that it takes from a budget.
type bodyReader struct {
	leases *BodyLeases
	limit  int
	buf    []byte
}

// ReadAll returns the whole body, in memory that the leases hold. announced is its length, -1 where
// that is not known. The error is fault.TooLarge, fault.Invalid, fault.RateLimited or
// fault.Unavailable.
func (l *BodyLeases) ReadAll(in io.Reader, announced int64) ([]byte, error) {
	return (&bodyReader{leases: l, limit: l.limit}).readAll(in, announced)
}

// readAll returns the whole body, whose announced length is -1 where it is not known. The caller
// keeps the leases as long as the body. A body over the limit is refused with fault.TooLarge,
// before it is read where its length is announced.
func (b *bodyReader) readAll(in io.Reader, announced int64) ([]byte, error) {
	if announced > int64(b.limit) {
		return nil, ErrTooLarge(b.limit)
	}
	most := b.limit + 1 // so that one byte too many arrives
	if announced >= 0 {
		most = int(announced)
	}
	for len(b.buf) < most {
		if len(b.buf) == cap(b.buf) {
			if err := b.grow(most); err != nil {
				return nil, err
			}
		}
		n, err := in.Read(b.buf[len(b.buf):cap(b.buf)])
		b.buf = b.buf[:len(b.buf)+n]
		if err == io.EOF && (announced < 0 || len(b.buf) == most) {
			break
		}
		if err != nil {
			return nil, readFailure(err, b.limit)
		}
	}
	if len(b.buf) > b.limit {
		return nil, ErrTooLarge(b.limit)
	}
	return b.buf, nil
}

// ReadMessage reads a message of a caller, of at most limit bytes, into memory from the budget of
// bodies. The caller of ReadMessage calls release when it no longer needs the message. What does
// not fit is refused with fault.TooLarge, fault.RateLimited or fault.Unavailable.
func (b *Budgets) ReadMessage(c *Caller, in io.Reader, limit int) (message []byte, release func(), err error) {
	leases := b.BodyLeases(c.Environment, c, limit)
	reader := &bodyReader{leases: &leases, limit: limit}
	if err := reader.readMessage(in); err != nil {
		leases.Release()
		return nil, func() {}, err
	}
	return reader.buf, leases.Release, nil
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
			return ErrTooLarge(b.limit)
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
	if err := b.leases.ForBuffer(size).Take(int64(size)); err != nil {
		return limit.Fault(err, TooManyBytes)
	}
	grown := make([]byte, len(b.buf), size)
	copy(grown, b.buf)
	b.buf = grown
	if old > 0 {
		b.leases.ForBuffer(old).Give(int64(old))
	}
	return nil
}

func readFailure(err error, limit int) error {
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return ErrTooLarge(limit)
	}
	return fault.Wrap(fault.Invalid, err, "The body did not arrive whole")
}
