package httpapi

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
)

func TestParseInteger(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "0.000": 0, "0e9": 0, "0e-9": 0, "-0.0E+9": 0,
		"1": 1, "-1": -1, "1.0": 1, "1e1": 10, "1E+1": 10, "10e-1": 1, "1.5e1": 15, "-1.50e1": -15, "0.001e3": 1, "100.00e-2": 1,
		"9223372036854775807": math.MaxInt64, "9223372036854775807.0": math.MaxInt64, "-9223372036854775808": math.MinInt64,
		"9223372036854775808": math.MaxInt64, "-9223372036854775809": math.MinInt64, "9.223372036854775807e18": math.MaxInt64,
		"1e19": math.MaxInt64, "-1e19": math.MinInt64, "1e999999999999999999999": math.MaxInt64, "-1e2147483648": math.MinInt64,
		"1" + strings.Repeat("0", 5000) + "e-5000": 1,
		strings.Repeat("9", 5000):                  math.MaxInt64,
	} {
		if got, ok := parseInteger(text); !ok || got != want {
			t.Errorf("%.40s is %d, %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "1.5", "-0.1", "1e-1", "15e-2", "0.1e0", "1e-999999999999999999999", `"1"`, "true", "null", "[1]", "{}", "1" + strings.Repeat("0", 5000) + "e-5001",
	} {
		if got, ok := parseInteger(text); ok {
			t.Errorf("%.40s is %d, want none", text, got)
		}
	}
}

// FuzzParseInteger compares with exact arithmetic.
func FuzzParseInteger(f *testing.F) {
	for _, seed := range []string{"0", "-12.50e3", "9223372036854775808", "1e-1", "100e-2", "0.00e7"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, exponent := cutAny(text, "eE")
		if len(exponent) > 4 || !json.Valid([]byte(text)) || strings.TrimSpace(text) != text {
			return // too large to compare with, or not what the decoder passes on
		}
		got, ok := parseInteger(text)
		exact, number := new(big.Rat).SetString(text)
		if !number || !exact.IsInt() {
			if ok {
				t.Errorf("%s is %d, want none", text, got)
			}
			return
		}
		want := exact.Num()
		if !want.IsInt64() {
			want = big.NewInt(saturated(strings.Trim(text[:1], "0123456789")))
		}
		if !ok || got != want.Int64() {
			t.Errorf("%s is %d, %v, want %d", text, got, ok, want)
		}
	})
}
