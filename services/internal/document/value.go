package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// A JSON value is decoded into nil, bool, string, json.Number (so that a number
// stays as it was written), []any and map[string]any.

// decode decodes exactly one JSON value.
func decode(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("more than one value")
	}
	return value, nil
}

// encode returns the compact encoding of a value. It refuses one that is nested
// so deeply that it could not be decoded again.
func encode(value any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fault.Wrap(fault.Internal, err, "The document cannot be encoded")
	}
	encoded := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if !json.Valid(encoded) {
		return nil, fault.New(fault.Invalid, "The document would be nested too deeply")
	}
	return encoded, nil
}

// clone returns a copy of a value that shares nothing that can be changed with
// it. It takes what the copy weighs, about its encoded size in bytes, from the
// budget, and gives up when that is used up.
func clone(value any, budget *int) any {
	*budget -= 2
	if *budget < 0 {
		return nil
	}
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for name, member := range value {
			*budget -= len(name)
			copied[name] = clone(member, budget)
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for i, element := range value {
			copied[i] = clone(element, budget)
		}
		return copied
	case string:
		*budget -= len(value)
	case json.Number:
		*budget -= len(value)
	}
	return value
}

// equal compares values as RFC 6902, section 4.6, does: numbers by what they
// are, not by how they are written.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || parseDecimal(a) == parseDecimal(b))
	}
	return a == b
}

// decimal is a number as sign, significant digits without zeros at either end,
// and the power of ten of the last digit. It is exact, and small however large
// the number.
type decimal struct {
	negative bool
	digits   string
	exponent int64
	// literal is the whole number where the exponent is beyond all measure.
	literal json.Number
}

func parseDecimal(number json.Number) decimal {
	text, negative := strings.CutPrefix(string(number), "-")
	mantissa, exponentText := text, "0"
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponentText = text[:i], text[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return decimal{}
	}
	exponent, err := strconv.ParseInt(exponentText, 10, 62)
	if err != nil {
		return decimal{literal: number}
	}
	significant := strings.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(significant) - len(fraction))
	return decimal{negative: negative, digits: significant, exponent: exponent}
}
