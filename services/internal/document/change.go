package document

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Change is what an edit does to the body of a document: one of Replace, Patch
// and Merge. It is immutable and may be applied any number of times.
type Change interface {
	// apply returns the compact body that the change makes of the given one. It
	// alters nothing and fails with a fault whose reason is for the caller.
	apply(body []byte) ([]byte, error)
}

// ParseChange returns the change that the body of a PATCH asks for (section
// 4.4): an array is a JSON Patch, an object a JSON Merge Patch. Anything else is
// fault.Invalid.
func ParseChange(body []byte) (Change, error) {
	if first := bytes.TrimLeft(body, " \t\r\n"); len(first) > 0 && first[0] == '[' {
		return Patch(body)
	}
	return Merge(body)
}

// Replace returns the change that puts a complete JSON object in place of the
// body. Anything else than an object is fault.Invalid.
func Replace(body []byte) (Change, error) {
	if _, err := decodeObject(body); err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, body); err != nil {
		return nil, errMalformed
	}
	return replacement(compact.Bytes()), nil
}

type replacement []byte

func (r replacement) apply([]byte) ([]byte, error) { return r, nil }

var (
	errMalformed = fault.New(fault.Invalid, "Malformed json body")
	errNoObject  = fault.New(fault.Invalid, "The body must be a JSON object")
	errNoPatch   = fault.New(fault.Invalid, "A patch must be an array of JSON Patch operations or a JSON Merge Patch object")
)

// decodeObject decodes a JSON object that a caller sent.
func decodeObject(body []byte) (map[string]any, error) {
	value, err := decodeBody(body)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errNoObject
	}
	return object, nil
}

// decodeBody decodes a JSON value that a caller sent.
func decodeBody(body []byte) (any, error) {
	if !utf8.Valid(body) {
		return nil, errMalformed
	}
	value, err := decode(body)
	if err != nil {
		return nil, errMalformed
	}
	return value, nil
}

// transform applies a change of the decoded value to a body.
func transform(body []byte, change func(value any) (any, error)) ([]byte, error) {
	before, err := decode(body)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "The stored document cannot be read")
	}
	after, err := change(before)
	if err != nil {
		return nil, err
	}
	if _, ok := after.(map[string]any); !ok {
		return nil, fault.New(fault.Invalid, "The result of the patch is not a JSON object")
	}
	return encode(after)
}
