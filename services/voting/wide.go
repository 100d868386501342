package voting

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// wideInt is a 128-bit signed integer. The sums of a poll are kept in it because a
// weight may be as large as 2^53, so that products of weights, counts and
// squared values leave 64 bits behind.
type wideInt struct {
	hi int64
	lo uint64
}

// addProduct adds a·b.
func (w *wideInt) addProduct(a, b int64) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if (a < 0) != (b < 0) {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	sum, _ := bits.Add64(uint64(w.hi), hi, carry)
	w.hi = int64(sum)
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// narrow returns the value as an int64, and false when it does not fit.
func (w wideInt) narrow() (int64, bool) {
	n := int64(w.lo)
	return n, w.hi == n>>63
}

func (w wideInt) big() *big.Int {
	n := new(big.Int).Lsh(big.NewInt(w.hi), 64)
	return n.Add(n, new(big.Int).SetUint64(w.lo))
}

func (w wideInt) float() float64 {
	if n, ok := w.narrow(); ok {
		return float64(n)
	}
	f, _ := new(big.Float).SetInt(w.big()).Float64()
	return f
}

func (w wideInt) append(buf []byte) []byte {
	if n, ok := w.narrow(); ok {
		return strconv.AppendInt(buf, n, 10)
	}
	return w.big().Append(buf, 10)
}

// sampleDeviation returns the sample standard deviation of n values with the given
// sum and sum of squares, 0 for fewer than two. The numerator n·squares−sum² is
// exact, so nothing cancels.
func sampleDeviation(n, sum, squares wideInt) float64 {
	count, ok := n.narrow()
	if ok && count < 2 {
		return 0
	}
	size := n.float()
	return math.Sqrt(spread(n, sum, squares) / (size * (size - 1)))
}

// spread returns n·squares−sum².
func spread(n, sum, squares wideInt) float64 {
	a, okA := n.narrow()
	b, okB := sum.narrow()
	c, okC := squares.narrow()
	if okA && okB && okC {
		hi, lo := bits.Mul64(uint64(a), uint64(c))
		subHi, subLo := bits.Mul64(magnitude(b), magnitude(b))
		lo, borrow := bits.Sub64(lo, subLo, 0)
		hi, _ = bits.Sub64(hi, subHi, borrow)
		return math.FMA(float64(hi), 1<<64, float64(lo))
	}
	product := new(big.Int).Mul(n.big(), squares.big())
	square := new(big.Int).Mul(sum.big(), sum.big())
	f, _ := new(big.Float).SetInt(product.Sub(product, square)).Float64()
	return f
}
