package exactjson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/api/contract"
)

func TestCheckLimits(t *testing.T) {
	nested := func(open, end string, n int) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	for text, want := range map[string]error{
		nested("[", "]", 48):                           nil,
		nested("[", "]", 49):                           errNesting,
		nested("[", "]", 9000):                         errNesting,
		"{\"a\":" + nested("[", "]", 47) + "}":         nil,
		"{\"a\":" + nested("[", "]", 48) + "}":         errNesting,
		"[" + strings.Repeat("[],", 100) + "[]]":       nil, // beside one another
		`"` + nested("[", "]", 100) + `"`:              nil,
		`"\"` + nested("[", "]", 100) + `"`:            nil,
		`"\\"`:                                         nil,
		`["\\",` + nested("[", "]", 48) + `]`:          errNesting,
		strings.Repeat("9", 40):                        nil,
		strings.Repeat("9", 41):                        errNumberBytes,
		"-" + strings.Repeat("9", 40):                  errNumberBytes,
		`"` + strings.Repeat("9", 41) + `"`:            nil,
		`{"` + strings.Repeat("9", 41) + `":1}`:        nil,
		"0." + strings.Repeat("0", 39):                 errNumberBytes,
		"1.7976931348623157e308":                       nil,
		"1e309":                                        errNumberRange,
		"[1,-1E+400]":                                  errNumberRange,
		"1e999999999999999999":                         errNumberRange,
		"1e-400":                                       nil, // 0 to a reader
		"0e999":                                        nil,
		`{"a":1,"b":[true,null,-0.5e+3,"1e999"]}`:      nil,
		`{"n":12345678901234567890123456789012345678}`: nil,
	} {
		if got := CheckLimits([]byte(text)); !errors.Is(got, want) {
			t.Errorf("%.60s: %v, want %v", text, got, want)
		}
	}
}

// What is within the limits can be read by encoding/json into doubles and 64 levels.
func FuzzCheckLimits(f *testing.F) {
	f.Add(`{"a":[1,2.5e3,"x\\\"",{"b":null}]}`)
	f.Add(strings.Repeat("[", 50) + strings.Repeat("]", 50))
	f.Fuzz(func(t *testing.T, text string) {
		err := CheckLimits([]byte(text))
		if !json.Valid([]byte(text)) || err != nil {
			return
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if depthOf(value) > contract.MaxNesting {
			t.Errorf("%q is nested %d levels", text, depthOf(value))
		}
	})
}

func depthOf(value any) (depth int) {
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			depth = max(depth, depthOf(member))
		}
	case []any:
		for _, element := range value {
			depth = max(depth, depthOf(element))
		}
	default:
		return 0
	}
	return depth + 1
}
