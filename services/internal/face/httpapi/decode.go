package httpapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

func errInvalidBody() error { return fault.New(fault.Invalid, "Invalid body") }

// checkStored refuses JSON that readers of what is stored may fail at.
func checkStored(valid []byte) error {
	if err := exactjson.CheckLimits(valid); err != nil {
		return fault.New(fault.Invalid, err.Error())
	}
	return nil
}

// jsonObject is a decoded JSON object whose members are read by their exact names.
// A member of a wrong type makes err; null is a wrong type everywhere.
type jsonObject struct {
	members map[string]json.RawMessage
	err     error
	// strict notes which members were asked for, and names the one of a wrong type.
	strict bool
	path   string // of the object, that goes before the names of its members
	asked  []string
}

// decodeObject reads a body that must be a JSON object and nothing else.
func decodeObject(body []byte) *jsonObject {
	o := &jsonObject{}
	if !utf8.Valid(body) || json.Unmarshal(body, &o.members) != nil || o.members == nil {
		o.failDecoding()
	}
	return o
}

// decodeStrictly is decodeObject for an object whose errors name a member.
func decodeStrictly(body []byte, path string) *jsonObject {
	o := decodeObject(body)
	o.strict, o.path = true, path
	return o
}

func (o *jsonObject) failDecoding() { o.err = errInvalidBody() }

// failMember is failDecoding for a member that is not of a type. The first failure stays.
func (o *jsonObject) failMember(name, wanted string) {
	switch {
	case o.err != nil:
	case !o.strict:
		o.failDecoding()
	default:
		o.err = fault.Newf(fault.Invalid, "Invalid body: %s must be %s", o.path+name, wanted)
	}
}

// raw returns the member of that name.
func (o *jsonObject) raw(name string) (json.RawMessage, bool) {
	if o.strict {
		o.asked = append(o.asked, name)
	}
	raw, ok := o.members[name]
	return raw, ok
}

// json returns the member of that name, which may be anything.
func (o *jsonObject) json(name string) json.RawMessage {
	raw, _ := o.raw(name)
	return raw
}

// unknown returns the paths of the members that were never asked for, sorted.
func (o *jsonObject) unknown() (paths []string) {
	for _, name := range slices.Sorted(maps.Keys(o.members)) {
		if !slices.Contains(o.asked, name) {
			paths = append(paths, o.path+name)
		}
	}
	return paths
}

func (o *jsonObject) has(name string) bool {
	_, ok := o.members[name]
	return ok
}

// text returns the string member of that name, "" when there is none.
func (o *jsonObject) text(name string) (s string) {
	if raw, ok := o.raw(name); ok {
		if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
			o.failMember(name, "a string")
		}
	}
	return s
}

// texts returns the array of strings of that name.
func (o *jsonObject) texts(name string) (list []string) {
	raw, ok := o.raw(name)
	if !ok {
		return nil
	}
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		o.failMember(name, "an array of strings")
		return nil
	}
	for _, item := range items {
		member := &jsonObject{members: map[string]json.RawMessage{"": item}}
		list = append(list, member.text(""))
		if member.err != nil {
			o.failMember(name, "an array of strings")
		}
	}
	return list
}

// boolean returns the boolean member of that name, false when there is none.
func (o *jsonObject) boolean(name string) bool {
	raw, ok := o.raw(name)
	if ok && string(raw) != "true" && string(raw) != "false" {
		o.failMember(name, "a boolean")
	}
	return string(raw) == "true"
}

// object returns the object member of that name, which must be there.
func (o *jsonObject) object(name string) *jsonObject {
	raw, _ := o.raw(name)
	if len(raw) == 0 || raw[0] != '{' {
		o.failMember(name, "an object")
		return &jsonObject{strict: o.strict}
	}
	if o.strict {
		return decodeStrictly(raw, o.path+name+".")
	}
	return decodeObject(raw)
}

// integer returns the integer member of that name, or missing when there is none.
// 1.0 and 1e1 are integers; larger ones become the nearest int64.
func (o *jsonObject) integer(name string, missing int64) int64 {
	raw, ok := o.raw(name)
	if !ok {
		return missing
	}
	n, ok := parseInteger(string(raw))
	if !ok {
		o.failMember(name, "an integer")
	}
	return n
}

// parseInteger reads a JSON number without a fractional part.
func parseInteger(s string) (n int64, ok bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return 0, false
	}
	return exactjson.ParseNumber(s).Int64()
}
