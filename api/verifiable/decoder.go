package verifiable

import (
	"encoding/binary"
	"errors"
	"math"
)

// The errors of all decoders.
var (
	errShort    = errors.New("bytes are missing")
	errFollow   = errors.New("bytes follow")
	errNumber   = errors.New("a number is out of range")
	errUnknown  = errors.New("a version, a kind or a bit is unknown")
	errNotZero  = errors.New("a field that the kind does not use is not 0")
	errTooLarge = errors.New("the encoding is too long")
)

// decoder reads fields one after the other. After the first failure it reads zeros.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err // nil where a check found nothing
	}
}

func (d *decoder) bytes(n int) []byte {
	if d.err != nil || len(d.rest) < n {
		d.fail(errShort)
		return make([]byte, n)
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) u8() uint8   { return d.bytes(1)[0] }
func (d *decoder) u16() uint16 { return binary.BigEndian.Uint16(d.bytes(2)) }
func (d *decoder) u32() uint32 { return binary.BigEndian.Uint32(d.bytes(4)) }
func (d *decoder) u64() uint64 { return binary.BigEndian.Uint64(d.bytes(8)) }
func (d *decoder) i64() int64  { return int64(d.u64()) }

// index reads an index or a size, which fit the positive half.
func (d *decoder) index() int64 {
	n := d.u64()
	if n > math.MaxInt64 {
		d.fail(errNumber)
		return 0
	}
	return int64(n)
}

// block reads bytes behind their length.
func (d *decoder) block() []byte { return d.bytes(int(d.u16())) }

// expect reads a byte that has only one value so far.
func (d *decoder) expect(want uint8) {
	if d.u8() != want {
		d.fail(errUnknown)
	}
}

// end returns the first failure, one where bytes are left.
func (d *decoder) end() error {
	if len(d.rest) > 0 {
		d.fail(errFollow)
	}
	return d.err
}
