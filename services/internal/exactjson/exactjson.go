// Package exactjson encodes JSON and compares its numbers without changing what
// was written. The package may not import anything of the project.
package exactjson

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Marshal returns the compact encoding of a value, without the escapes for HTML
// of [json.Marshal], which make strings longer than they were.
func Marshal(value any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Number is a JSON number as sign, significant digits without zeros at either end,
// and the power of ten of the last digit. It is exact, and small however large the
// number. Two are == if and only if they are the same number, but for numbers whose
// exponent has more than 62 bits: those are also told apart by how they are written.
type Number struct {
	negative bool
	digits   string
	exponent int64
	// literal is the whole number where the exponent has more than 62 bits.
	literal string
}

// ParseNumber parses a valid JSON number.
func ParseNumber(text string) Number {
	unsigned, negative := strings.CutPrefix(text, "-")
	mantissa, exponentText := unsigned, "0"
	if i := strings.IndexAny(unsigned, "eE"); i >= 0 {
		mantissa, exponentText = unsigned[:i], unsigned[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return Number{}
	}
	significant := strings.TrimRight(digits, "0")
	exponent, err := strconv.ParseInt(exponentText, 10, 62) // the nearest where it is larger
	n := Number{negative: negative, digits: significant, exponent: exponent}
	if err != nil {
		n.literal = text
		return n
	}
	n.exponent += int64(len(digits) - len(significant) - len(fraction))
	return n
}

// Int64 returns the number as an integer, the nearest int64 where it is larger, and
// false where it has a fractional part. Its cost does not depend on the exponent.
func (n Number) Int64() (int64, bool) {
	if n.exponent < 0 {
		return 0, false
	}
	nearest, sign := int64(math.MaxInt64), ""
	if n.negative {
		nearest, sign = math.MinInt64, "-"
	}
	const longest = 19 // digits of an int64
	if int64(len(n.digits)) > longest || n.exponent > longest-int64(len(n.digits)) {
		return nearest, true
	}
	if n.digits == "" {
		return 0, true
	}
	i, err := strconv.ParseInt(sign+n.digits+strings.Repeat("0", int(n.exponent)), 10, 64)
	if err != nil {
		return nearest, true
	}
	return i, true
}
