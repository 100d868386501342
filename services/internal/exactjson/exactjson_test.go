package exactjson_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
)

func TestMarshal(t *testing.T) {
	got, err := exactjson.Marshal(map[string]any{"a": "<é&>", "n": json.Number("1.50")})
	if want := `{"a":"<é&>","n":1.50}`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	if _, err := exactjson.Marshal(func() {}); err == nil {
		t.Error("a function is encoded")
	}
}

func TestInt64(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "0.000": 0, "0e9": 0, "0e-9": 0, "-0.0E+9": 0, "0e99999999999999999999": 0,
		"1": 1, "-1": -1, "1.0": 1, "1e1": 10, "1E+1": 10, "10e-1": 1, "1.5e1": 15, "-1.50e1": -15, "0.001e3": 1, "100.00e-2": 1,
		"9223372036854775807": math.MaxInt64, "9223372036854775807.0": math.MaxInt64, "-9223372036854775808": math.MinInt64,
		"9223372036854775808": math.MaxInt64, "-9223372036854775809": math.MinInt64, "9.223372036854775807e18": math.MaxInt64,
		"1e19": math.MaxInt64, "-1e19": math.MinInt64, "1e999999999999999999999": math.MaxInt64, "-1e2147483648": math.MinInt64,
		"1e2305843009213693951": math.MaxInt64, "1" + strings.Repeat("0", 5000) + "e-5000": 1,
		strings.Repeat("9", 5000): math.MaxInt64,
	} {
		if got, ok := exactjson.ParseNumber(text).Int64(); !ok || got != want {
			t.Errorf("%.40s is %d, %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"1.5", "-0.1", "1e-1", "15e-2", "0.1e0", "1e-999999999999999999999", "1" + strings.Repeat("0", 5000) + "e-5001"} {
		if got, ok := exactjson.ParseNumber(text).Int64(); ok {
			t.Errorf("%.40s is %d, want none", text, got)
		}
	}
}

// FuzzNumber compares with the arithmetic of package big.
func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"0", "-12.50e3", "9223372036854775808", "1e-1", "100e-2", "0.00e7"} {
		f.Add(seed, "1.0")
	}
	f.Add("-0", "0e5")
	f.Fuzz(func(t *testing.T, a, b string) {
		exactA, ok := exact(a)
		exactB, both := exact(b)
		if !ok || !both {
			return
		}
		if got, want := exactjson.ParseNumber(a) == exactjson.ParseNumber(b), exactA.Cmp(exactB) == 0; got != want {
			t.Errorf("%s == %s is %v", a, b, got)
		}
		got, ok := exactjson.ParseNumber(a).Int64()
		if ok != exactA.IsInt() {
			t.Errorf("%s is an integer: %v", a, ok)
		}
		want := exactA.Num()
		if ok && want.IsInt64() && want.Int64() != got || ok && !want.IsInt64() && got != map[int]int64{1: math.MaxInt64, -1: math.MinInt64}[want.Sign()] {
			t.Errorf("%s is %d", a, got)
		}
	})
}

// exact returns the value of a JSON number, false if the text is no number or one
// too large to compare with.
func exact(text string) (*big.Rat, bool) {
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > 5 {
		return nil, false
	}
	var number json.Number
	if strings.TrimSpace(text) != text || strings.HasPrefix(text, `"`) || json.Unmarshal([]byte(text), &number) != nil || number == "" {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}
