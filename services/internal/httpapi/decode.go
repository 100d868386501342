package httpapi

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

func errInvalidBody() error { return fault.New(fault.Invalid, "Invalid body") }

// object is a decoded JSON object whose members are read by their exact names.
// The first member of a wrong type makes err; null is a wrong type everywhere.
type object struct {
	members map[string]json.RawMessage
	err     error
}

// decodeObject reads a body that must be a JSON object and nothing else.
func decodeObject(body []byte) *object {
	o := &object{}
	if !utf8.Valid(body) || json.Unmarshal(body, &o.members) != nil || o.members == nil {
		o.fail()
	}
	return o
}

func (o *object) fail() { o.err = errInvalidBody() }

func (o *object) has(name string) bool {
	_, ok := o.members[name]
	return ok
}

// text returns the string member of that name, "" when there is none.
func (o *object) text(name string) (s string) {
	if raw, ok := o.members[name]; ok {
		if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
			o.fail()
		}
	}
	return s
}

// texts returns the array of strings of that name.
func (o *object) texts(name string) (list []string) {
	raw, ok := o.members[name]
	if !ok {
		return nil
	}
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		o.fail()
		return nil
	}
	for _, item := range items {
		member := &object{members: map[string]json.RawMessage{"": item}}
		list = append(list, member.text(""))
		if member.err != nil {
			o.err = member.err
		}
	}
	return list
}

// boolean returns the boolean member of that name, false when there is none.
func (o *object) boolean(name string) bool {
	raw, ok := o.members[name]
	if ok && string(raw) != "true" && string(raw) != "false" {
		o.fail()
	}
	return string(raw) == "true"
}

// object returns the object member of that name, which must be there.
func (o *object) object(name string) *object {
	raw := o.members[name]
	if len(raw) == 0 || raw[0] != '{' {
		o.fail()
		return &object{}
	}
	return decodeObject(raw)
}

// integer returns the integer member of that name, or missing when there is
// none. 1.0 and 1e1 are integers; what is beyond 64 bits is the nearest int64.
func (o *object) integer(name string, missing int64) int64 {
	raw, ok := o.members[name]
	if !ok {
		return missing
	}
	n, ok := parseInteger(string(raw))
	if !ok {
		o.fail()
	}
	return n
}

// parseInteger reads a JSON number without a fractional part. It is exact, and
// its cost does not depend on the exponent.
func parseInteger(s string) (n int64, ok bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return 0, false
	}
	mantissa, exponent := cutAny(s, "eE")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	sign, whole := cutSign(whole)
	all := whole + fraction
	significant := strings.TrimRight(all, "0")
	digits := strings.TrimLeft(significant, "0")
	if digits == "" {
		return 0, true
	}
	power, _ := strconv.Atoi(exponent) // 0 where there is none, the nearest int where it is beyond
	power = max(-1<<30, min(power, 1<<30))
	zeros := power - len(fraction) + len(all) - len(significant)
	if zeros < 0 {
		return 0, false
	}
	if len(digits)+zeros > 19 {
		return saturated(sign), true
	}
	if n, err := strconv.ParseInt(sign+digits+strings.Repeat("0", zeros), 10, 64); err == nil {
		return n, true
	}
	return saturated(sign), true
}

func saturated(sign string) int64 {
	if sign == "-" {
		return math.MinInt64
	}
	return math.MaxInt64
}

func cutAny(s, separators string) (before, after string) {
	if i := strings.IndexAny(s, separators); i >= 0 {
		return s[:i], s[i+1:]
	}
	return s, ""
}

func cutSign(s string) (sign, rest string) {
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		return "-", rest
	}
	return "", s
}
