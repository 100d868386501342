package exactjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Errors of [ParseMembers].
var (
	errEncoding = errors.New("JSON must be UTF-8")
	errObject   = errors.New("JSON must be an object")
)

// Member is a member of a JSON object. Its name has no escapes, and its value is as it was
// written. Both share the memory of the object.
type Member struct {
	Name  []byte
	Value json.RawMessage
}

// Members are those of a JSON object, in its order. A name may be there more than once.
type Members []Member

// ParseMembers reads a JSON object, in UTF-8, and nothing else. An escape that is half of a
// character stands for U+FFFD, as for [json.Unmarshal].
func ParseMembers(text []byte) (Members, error) {
	if !utf8.Valid(text) {
		return nil, errEncoding
	}
	const roomAtFirst = 16 // members
	o := object{text: text, members: make(Members, 0, min(bytes.Count(text, []byte{':'}), roomAtFirst))}
	if err := jsonv2.Unmarshal(text, &o, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, err
	}
	return o.members, nil
}

// Last returns the value of the last member of a name, and whether there is one.
func (m Members) Last(name string) (value json.RawMessage, ok bool) {
	for _, member := range slices.Backward(m) {
		if string(member.Name) == name {
			return member.Value, true
		}
	}
	return nil, false
}

// HasDoubled reports whether two members have one name. It takes the square of their number, so
// the object must be short.
func (m Members) HasDoubled() bool {
	for i, member := range m {
		for _, earlier := range m[:i] {
			if bytes.Equal(earlier.Name, member.Name) {
				return true
			}
		}
	}
	return false
}

// object reads the members of an object from a text.
type object struct {
	text    []byte
	members Members
}

// UnmarshalJSONFrom reads the object with which the input of d goes on.
func (o *object) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != jsontext.KindBeginObject {
		return errObject
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != jsontext.KindEndObject {
		name, err := o.readValue(d)
		if err != nil {
			return err
		}
		value, err := o.readValue(d)
		if err != nil {
			return err
		}
		if name, err = unquote(name); err != nil {
			return err
		}
		o.members = append(o.members, Member{name, value})
	}
	_, err := d.ReadToken()
	return err
}

// readValue returns the next value of d, in the memory of the text: what d returns is valid only
// until it reads on.
func (o *object) readValue(d *jsontext.Decoder) (json.RawMessage, error) {
	value, err := d.ReadValue()
	end := d.InputOffset()
	return json.RawMessage(o.text[end-int64(len(value)) : end : end]), err
}

// unquote returns what a valid JSON string stands for, in its memory where it has no escapes.
func unquote(quoted []byte) ([]byte, error) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], nil
	}
	var text string
	err := json.Unmarshal(quoted, &text)
	return []byte(text), err
}

// ParseText returns what a JSON string stands for, and whether the value is one.
func ParseText(value json.RawMessage) (text string, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	unquoted, err := unquote(value)
	return string(unquoted), err == nil
}
