package httpapi

import (
	"math"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

func TestParseInteger(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "1": 1, "1.0": 1, "1e1": 10, "-1.50e1": -15, "9223372036854775808": math.MaxInt64, "-1e2147483648": math.MinInt64,
	} {
		if got, ok := operation.ParseInteger(text); !ok || got != want {
			t.Errorf("%.40s is %d, %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "1.5", "1e-1", `"1"`, "true", "null", "[1]", "{}"} {
		if got, ok := operation.ParseInteger(text); ok {
			t.Errorf("%.40s is %d, want none", text, got)
		}
	}
}
