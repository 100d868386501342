package httpapi

import (
	"encoding/json"
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
// The first member of a wrong type makes err; null is a wrong type everywhere.
type jsonObject struct {
	members map[string]json.RawMessage
	err     error
}

// decodeObject reads a body that must be a JSON object and nothing else.
func decodeObject(body []byte) *jsonObject {
	o := &jsonObject{}
	if !utf8.Valid(body) || json.Unmarshal(body, &o.members) != nil || o.members == nil {
		o.failDecoding()
	}
	return o
}

func (o *jsonObject) failDecoding() { o.err = errInvalidBody() }

func (o *jsonObject) has(name string) bool {
	_, ok := o.members[name]
	return ok
}

// text returns the string member of that name, "" when there is none.
func (o *jsonObject) text(name string) (s string) {
	if raw, ok := o.members[name]; ok {
		if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
			o.failDecoding()
		}
	}
	return s
}

// texts returns the array of strings of that name.
func (o *jsonObject) texts(name string) (list []string) {
	raw, ok := o.members[name]
	if !ok {
		return nil
	}
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		o.failDecoding()
		return nil
	}
	for _, item := range items {
		member := &jsonObject{members: map[string]json.RawMessage{"": item}}
		list = append(list, member.text(""))
		if member.err != nil {
			o.err = member.err
		}
	}
	return list
}

// boolean returns the boolean member of that name, false when there is none.
func (o *jsonObject) boolean(name string) bool {
	raw, ok := o.members[name]
	if ok && string(raw) != "true" && string(raw) != "false" {
		o.failDecoding()
	}
	return string(raw) == "true"
}

// object returns the object member of that name, which must be there.
func (o *jsonObject) object(name string) *jsonObject {
	raw := o.members[name]
	if len(raw) == 0 || raw[0] != '{' {
		o.failDecoding()
		return &jsonObject{}
	}
	return decodeObject(raw)
}

// integer returns the integer member of that name, or missing when there is none.
// 1.0 and 1e1 are integers; larger ones become the nearest int64.
func (o *jsonObject) integer(name string, missing int64) int64 {
	raw, ok := o.members[name]
	if !ok {
		return missing
	}
	n, ok := parseInteger(string(raw))
	if !ok {
		o.failDecoding()
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
