package document

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Change transforms the body of a document; Replace, Patch and Merge return one. It is
// immutable and may be applied any number of times. It holds what the caller sent and
// decodes that for each evaluation, because the decoded form takes up to 70 times the
// memory and changes may wait in long queues.
type Change interface {
	// prepare decodes the change and refuses what no document can take, with a fault
	// whose reason is for the caller.
	prepare() (applyFunc, error)
	// weight estimates the heap in bytes that one evaluation takes, without the document
	// and without copies.
	weight() int64
}

// applyFunc returns the compact body that a change makes of the given one, of a document
// that may have so many bytes. It alters nothing and runs once. It fails with a fault
// whose reason is for the caller.
type applyFunc func(body []byte, limit int) ([]byte, error)

// ParseChange returns the change that the body of a PATCH asks for (section
// 4.4): an array is a JSON Patch, an object a JSON Merge Patch. Anything else is
// fault.Invalid.
func ParseChange(body []byte) (Change, error) {
	if first := bytes.TrimLeft(body, whitespace); len(first) > 0 && first[0] == '[' {
		return Patch(body)
	}
	return Merge(body)
}

// Replace returns the change that puts a complete JSON object in place of the
// body. Anything else than an object is fault.Invalid.
func Replace(body []byte) (Change, error) {
	compact, err := compactText(body, '{', errNoObject)
	if err != nil {
		return nil, err
	}
	return bodyReplacement(compact), nil
}

type bodyReplacement []byte

func (r bodyReplacement) prepare() (applyFunc, error) {
	return func([]byte, int) ([]byte, error) { return r, nil }, nil
}

func (r bodyReplacement) weight() int64 { return 0 }

// Compute returns a change that a domain decides: compute returns the body, as compact
// JSON, that becomes of the present one. It may run several times and alters nothing else
// than what its caller reads after the edit; its errors are faults.
func Compute(compute func(body []byte) ([]byte, error)) Change { return bodyComputation(compute) }

type bodyComputation func(body []byte) ([]byte, error)

func (c bodyComputation) prepare() (applyFunc, error) {
	return func(body []byte, _ int) ([]byte, error) { return c(body) }, nil
}

func (c bodyComputation) weight() int64 { return 0 }

var (
	errMalformed = fault.New(fault.Invalid, "Malformed json body")
	errNoObject  = fault.New(fault.Invalid, "The body must be a JSON object")
	errNoPatch   = fault.New(fault.Invalid, "A patch must be an array of JSON Patch operations or a JSON Merge Patch object")
)

// checkText checks that a caller sent one JSON value, which begins with the given byte. It
// allocates nothing.
func checkText(body []byte, first byte, otherwise error) error {
	if !utf8.Valid(body) || !json.Valid(body) {
		return errMalformed
	}
	if bytes.TrimLeft(body, whitespace)[0] != first {
		return otherwise
	}
	return nil
}

// compactText returns a JSON value that checkText accepts, without the space between its tokens.
func compactText(body []byte, first byte, otherwise error) ([]byte, error) {
	if err := checkText(body, first, otherwise); err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, body); err != nil {
		return nil, errMalformed
	}
	return compact.Bytes(), nil
}

// whitespace may stand between the tokens of JSON.
const whitespace = " \t\r\n"

// transformBody applies a change of the decoded value to a body.
func transformBody(body []byte, change func(value any) (any, error)) ([]byte, error) {
	before, err := decodeValue(body)
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
	return encodeValue(after)
}
