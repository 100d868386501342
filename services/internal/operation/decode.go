package operation

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// ErrInvalidBody refuses a body that is not what its route takes.
func ErrInvalidBody() error { return fault.New(fault.Invalid, "Invalid body") }

// InvalidMember is the cause of a refusal of a body: a member, and what it must be. The contract
// fixes the reason, so the answer has it in a header.
type InvalidMember string

func (m InvalidMember) Error() string { return string(m) }

// NewInvalidMember is errInvalidBody that names a member and its problem.
func NewInvalidMember(problem string) error {
	return fault.Wrap(fault.Invalid, InvalidMember(problem), "Invalid body")
}

// Object is a decoded JSON object whose members are read by their exact names; of several with
// one name the last counts. A member of a wrong type makes Err; null is a wrong type everywhere.
type Object struct {
	members exactjson.Members
	Err     error
	// strict notes which members were asked for, and names the one of a wrong type in the reason.
	strict bool
	path   string // of the object, that goes before the names of its members
	asked  []string
}

// DecodeObject reads a body that must be a JSON object and nothing else.
func DecodeObject(body []byte) *Object {
	o := &Object{}
	var err error
	if o.members, err = exactjson.ParseMembers(body); err != nil {
		o.failDecoding()
	}
	return o
}

// DecodeStrictly is DecodeObject for an object whose errors name a member.
func DecodeStrictly(body []byte) *Object {
	o := DecodeObject(body)
	o.strict = true
	return o
}

// DecodeMember returns an object with one member, whose errors name it.
func DecodeMember(name string, value json.RawMessage) *Object {
	return &Object{members: exactjson.Members{{Name: []byte(name), Value: value}}, strict: true}
}

func (o *Object) failDecoding() { o.Err = ErrInvalidBody() }

// failMember is failDecoding for a member that is not of a type. The first failure stays.
func (o *Object) failMember(name, wanted string) {
	switch {
	case o.Err != nil:
	case !o.strict:
		o.Err = NewInvalidMember(o.path + name + " must be " + wanted)
	default:
		o.Err = fault.Newf(fault.Invalid, "Invalid body: %s must be %s", o.path+name, wanted)
	}
}

// raw returns the member of that name, in the memory of the body.
func (o *Object) raw(name string) (json.RawMessage, bool) {
	if o.strict {
		o.asked = append(o.asked, name)
	}
	return o.members.Last(name)
}

// JSON returns a copy of the member of that name, which may be anything, nil when there is none.
func (o *Object) JSON(name string) json.RawMessage {
	raw, _ := o.raw(name)
	return bytes.Clone(raw)
}

// All returns copies of all members by their names.
func (o *Object) All() map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(o.members))
	for _, m := range o.members {
		all[string(m.Name)] = bytes.Clone(m.Value)
	}
	return all
}

// Unknown returns the paths of the members that were never asked for, sorted.
func (o *Object) Unknown() (paths []string) {
	for _, m := range o.members {
		if name := string(m.Name); !slices.Contains(o.asked, name) {
			paths = append(paths, o.path+name)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Needs makes err of a member that is not there.
func (o *Object) Needs(name string) {
	if o.Err == nil && !o.Has(name) {
		o.Err = NewInvalidMember(o.path + name + " is missing")
	}
}

// Has reports whether the object has a member of that name.
func (o *Object) Has(name string) bool {
	_, ok := o.members.Last(name)
	return ok
}

// Text returns the string member of that name, "" when there is none.
func (o *Object) Text(name string) (s string) {
	if raw, ok := o.raw(name); ok {
		if s, ok = exactjson.ParseText(raw); !ok {
			o.failMember(name, "a string")
		}
	}
	return s
}

// Texts returns the array of strings of that name.
func (o *Object) Texts(name string) (list []string) {
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
		text, ok := exactjson.ParseText(item)
		if !ok {
			o.failMember(name, "an array of strings")
		}
		list = append(list, text)
	}
	return list
}

// Boolean returns the boolean member of that name, false when there is none.
func (o *Object) Boolean(name string) bool {
	raw, ok := o.raw(name)
	if ok && string(raw) != "true" && string(raw) != "false" {
		o.failMember(name, "a boolean")
	}
	return string(raw) == "true"
}

// Object returns the object member of that name, which must be there.
func (o *Object) Object(name string) *Object {
	raw, _ := o.raw(name)
	if len(raw) == 0 || raw[0] != '{' {
		o.failMember(name, "an object")
		return &Object{strict: o.strict}
	}
	member := DecodeObject(raw)
	member.strict, member.path = o.strict, o.path+name+"."
	return member
}

// Integer returns the integer member of that name, or missing when there is none.
// 1.0 and 1e1 are integers; larger ones become the nearest int64.
func (o *Object) Integer(name string, missing int64) int64 {
	raw, ok := o.raw(name)
	if !ok {
		return missing
	}
	n, ok := ParseInteger(string(raw))
	if !ok {
		o.failMember(name, "an integer")
	}
	return n
}

// OptionalInteger is Integer, nil when there is no member of that name.
func (o *Object) OptionalInteger(name string) *int64 {
	n := o.Integer(name, 0)
	if !o.Has(name) {
		return nil
	}
	return &n
}

// Fill reads the members that the fields of a struct are named after in JSON. Fields are booleans,
// int64s and strings.
func (o *Object) Fill(structure any) {
	fields := reflect.ValueOf(structure).Elem()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
		switch field := fields.Field(i); field.Kind() {
		case reflect.Bool:
			field.SetBool(o.Boolean(name))
		case reflect.Int64:
			field.SetInt(o.Integer(name, 0))
		default: // SetString panics for another type
			field.SetString(o.Text(name))
		}
	}
}

// ParseInteger reads a JSON number without a fractional part.
func ParseInteger(s string) (n int64, ok bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return 0, false
	}
	return exactjson.ParseNumber(s).Int64()
}
