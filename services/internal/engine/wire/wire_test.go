package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// written is one of each, as it has to stay.
func written() []byte {
	buf := wire.AppendBytes(nil, "tea")
	buf = wire.AppendBool(wire.AppendBool(buf, true), false)
	buf = binary.AppendVarint(binary.AppendUvarint(buf, 300), -2)
	buf = binary.LittleEndian.AppendUint64(buf, 7)
	return wire.AppendBytes(append(buf, 9), []byte{1, 2})
}

func read(r *wire.Reader) (tea string, yes, no bool, u uint64, i int64, fixed uint64, b byte, rest []byte) {
	return r.Text(), r.Bool(), r.Bool(), r.Uvarint(), r.Varint(), r.Uint64(), r.Byte(), r.Bytes()
}

func TestReader(t *testing.T) {
	whole := written()
	if want := "\x03tea\x01\x00\xac\x02\x03\x07\x00\x00\x00\x00\x00\x00\x00\x09\x02\x01\x02"; string(whole) != want {
		t.Errorf("written as %q, want %q", whole, want)
	}
	r := wire.NewReader(whole)
	tea, yes, no, u, i, fixed, b, rest := read(r)
	if tea != "tea" || !yes || no || u != 300 || i != -2 || fixed != 7 || b != 9 || !bytes.Equal(rest, []byte{1, 2}) {
		t.Error(tea, yes, no, u, i, fixed, b, rest)
	}
	if err := r.End(); err != nil {
		t.Error(err)
	}
	for n := range whole {
		r := wire.NewReader(whole[:n])
		read(r)
		if !errors.Is(r.Err(), wire.ErrMalformed) || len(r.Rest()) > 0 {
			t.Errorf("%d bytes of %d: %v, %d are left", n, len(whole), r.Err(), len(r.Rest()))
		}
	}
	if r := wire.NewReader([]byte{1, 2}); r.Byte() != 1 || r.End() == nil {
		t.Error("a byte too many is no error")
	}
}

func TestCountIsBounded(t *testing.T) {
	if n := wire.NewReader([]byte{2, 0, 0, 0, 0}).Count(2); n != 2 {
		t.Errorf("a number of elements that fit is read as %d", n)
	}
	r := wire.NewReader(binary.AppendUvarint(nil, 1<<62))
	if n := r.Count(1); n != 0 || r.Err() == nil {
		t.Errorf("a number of elements that do not fit is read as %d, %v", n, r.Err())
	}
}

// TestFirstErrorStays: the reader fails with what went wrong first, and returns zeros
// from then on.
func TestFirstErrorStays(t *testing.T) {
	r, first := wire.NewReader([]byte{1, 2, 3}), errors.New("first")
	r.Fail(first)
	if got := r.Byte(); got != 0 || !errors.Is(r.End(), first) {
		t.Errorf("got %d, %v", got, r.End())
	}
}
