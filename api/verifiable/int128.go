package verifiable

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/bits"
)

// Int128 is a signed integer of 128 bits. Sums stay below 2^126, so that adding two is exact.
type Int128 struct{ hi, lo uint64 }

// NewInt128 returns n.
func NewInt128(n int64) Int128 { return Int128{uint64(n >> 63), uint64(n)} }

// MakeInt128 returns the number whose upper and lower 64 bits are given.
func MakeInt128(hi int64, lo uint64) Int128 { return Int128{uint64(hi), lo} }

func (x Int128) isNegative() bool { return int64(x.hi) < 0 }

func (x Int128) plus(y Int128) Int128 {
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	hi, _ := bits.Add64(x.hi, y.hi, carry)
	return Int128{hi, lo}
}

func (x Int128) negated() Int128 {
	return Int128{^x.hi, ^x.lo}.plus(Int128{0, 1})
}

func (x Int128) absolute() Int128 {
	if x.isNegative() {
		return x.negated()
	}
	return x
}

func (x Int128) less(y Int128) bool {
	if x.hi != y.hi {
		return int64(x.hi) < int64(y.hi)
	}
	return x.lo < y.lo
}

// multiply returns x·n of an x that is not negative. The product must fit.
func (x Int128) multiply(n uint64) Int128 {
	hi, lo := bits.Mul64(x.lo, n)
	return Int128{hi + x.hi*n, lo}
}

// divideUp returns x/2^n of an x that is not negative, rounded up.
func (x Int128) divideUp(n uint) Int128 {
	x = x.plus(Int128{0, 1<<n - 1})
	return Int128{x.hi >> n, x.lo>>n | x.hi<<(64-n)}
}

// isBelow126 reports whether |x| < 2^126.
func (x Int128) isBelow126() bool { return x.absolute().hi < 1<<62 }

func (x Int128) append(buf []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(buf, x.hi), x.lo)
}

func (d *decoder) i128() Int128 { return Int128{d.u64(), d.u64()} }

// String returns the number in decimal digits.
func (x Int128) String() string {
	n := new(big.Int).SetBytes(x.absolute().append(nil))
	if x.isNegative() {
		n.Neg(n)
	}
	return n.String()
}

// MarshalText implements [encoding.TextMarshaler]: JSON has the number as a string.
func (x Int128) MarshalText() ([]byte, error) { return []byte(x.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (x *Int128) UnmarshalText(text []byte) error {
	n, ok := new(big.Int).SetString(string(text), 10)
	if !ok || n.String() != string(text) || n.BitLen() > 126 {
		return fmt.Errorf("%.50q is no decimal number below 2^126", text)
	}
	var b [16]byte
	n.FillBytes(b[:])
	*x = Int128{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
	if n.Sign() < 0 {
		*x = x.negated()
	}
	return nil
}
