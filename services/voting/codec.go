package voting

import (
	"encoding/binary"
	"errors"
	"unsafe"
)

var errCorrupt = errors.New("voting: encoding is cut off or makes no sense")

// view returns b as a string without copying it. b must not change afterwards.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func appendBytes[T []byte | string](buf []byte, b T) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(b))), b...)
}

func appendBool(buf []byte, b bool) []byte {
	if b {
		return append(buf, 1)
	}
	return append(buf, 0)
}

// decoder reads an encoding from the front of buf. After the first error it
// returns zeros only, so that callers check once, at the end.
type decoder struct {
	buf []byte
	err error
}

func (d *decoder) fail() {
	d.buf, d.err = nil, errCorrupt
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.buf)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.buf)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

// bounded returns v, which was read, if it is within bounds.
func (d *decoder) bounded(v, low, high int64) int64 {
	if !within(v, low, high) {
		d.fail()
	}
	return v
}

// take returns the next n bytes, or n zeros when there are fewer.
func (d *decoder) take(n int) []byte {
	if n > len(d.buf) {
		d.fail()
		return make([]byte, n)
	}
	b := d.buf[:n:n]
	d.buf = d.buf[n:]
	return b
}

// length reads a number of elements of at least the given size, which the rest
// of the buffer must be able to hold.
func (d *decoder) length(size int) int {
	n := d.uvarint()
	if n > uint64(len(d.buf)/size) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) bytes() []byte { return d.take(d.length(1)) }

func (d *decoder) string() string { return string(d.bytes()) }

func (d *decoder) byte() byte { return d.take(1)[0] }

func (d *decoder) uint64() uint64 { return binary.LittleEndian.Uint64(d.take(8)) }
