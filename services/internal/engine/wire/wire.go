// Package wire reads and writes the binary encodings of the project: entries,
// commands, snapshots, and what one process sends another. Numbers are varints or
// eight bytes, little-endian; what has no fixed length stands behind its length.
// The package may not import anything of the project.
package wire

import (
	"encoding/binary"
	"errors"
)

// ErrMalformed is the error of a Reader whose bytes are cut off or make no sense.
var ErrMalformed = errors.New("the encoding is cut off or malformed")

// AppendBytes appends the length of b, and b.
func AppendBytes[T ~[]byte | ~string](buf []byte, b T) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(b))), b...)
}

// AppendBool appends a byte: 1 or 0.
func AppendBool(buf []byte, b bool) []byte {
	if b {
		return append(buf, 1)
	}
	return append(buf, 0)
}

// Reader reads an encoding from its start. After the first error it returns zeros
// only, so that callers check Err once, at the end. The zero Reader has nothing
// to read.
type Reader struct {
	rest []byte
	err  error
}

// NewReader returns a reader of buf, which what it returns may alias.
func NewReader(buf []byte) *Reader { return &Reader{rest: buf} }

// Err returns the first error: ErrMalformed, or what Fail was given.
func (r *Reader) Err() error { return r.err }

// Rest returns the bytes that were not read; none after an error.
func (r *Reader) Rest() []byte { return r.rest }

// End returns Err, and ErrMalformed if there are bytes left.
func (r *Reader) End() error {
	if len(r.rest) > 0 {
		r.Fail(ErrMalformed)
	}
	return r.err
}

// Fail makes err the error of the reader, unless it has one.
func (r *Reader) Fail(err error) {
	r.rest = nil
	if r.err == nil {
		r.err = err
	}
}

// Uvarint reads an unsigned varint.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.Fail(ErrMalformed)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// Varint reads a signed varint.
func (r *Reader) Varint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.Fail(ErrMalformed)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// Count reads a number of elements of at least the given size in bytes. The rest
// of the encoding is long enough for them.
func (r *Reader) Count(size int) int {
	n := r.Uvarint()
	if n > uint64(len(r.rest)/size) {
		r.Fail(ErrMalformed)
		return 0
	}
	return int(n)
}

// Take returns the next n bytes, or n zeros if there are fewer. The caller has
// bounded n.
func (r *Reader) Take(n int) []byte {
	if n > len(r.rest) {
		r.Fail(ErrMalformed)
		return make([]byte, n)
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// Bytes reads what AppendBytes wrote, without copying it.
func (r *Reader) Bytes() []byte { return r.Take(r.Count(1)) }

// Text reads what AppendBytes wrote, as a string of its own.
func (r *Reader) Text() string { return string(r.Bytes()) }

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if len(r.rest) == 0 {
		r.Fail(ErrMalformed)
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// Bool reads what AppendBool wrote; any byte but 0 is true.
func (r *Reader) Bool() bool { return r.Byte() != 0 }

// Uint64 reads eight bytes, little-endian.
func (r *Reader) Uint64() uint64 { return binary.LittleEndian.Uint64(r.Take(8)) }
