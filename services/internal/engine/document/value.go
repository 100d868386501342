package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// A JSON value is decoded into nil, bool, string, json.Number (so that a number
// stays as it was written), []any and map[string]any.

// decodeValue decodes exactly one JSON value.
func decodeValue(data []byte) (any, error) {
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

// encodeValue returns the compact encoding of a value. It refuses one that is nested
// so deeply that it could not be decoded again.
func encodeValue(value any) ([]byte, error) {
	encoded, err := exactjson.Marshal(value)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "The document cannot be encoded")
	}
	if !json.Valid(encoded) {
		return nil, fault.New(fault.Invalid, "The document would be nested too deeply")
	}
	return encoded, nil
}

// What values take on the heap, in bytes, as measured and with the growth of maps and
// slices while they are decoded.
const (
	objectWeight  = 64  // a map without members
	membersWeight = 288 // its first group of 8 members
	memberWeight  = 96  // a member or element more
	arrayWeight   = 48  // a slice without elements
	elementWeight = 16  // an element of a slice of known length
	tokenWeight   = 48  // a token of a JSON Pointer
	copiedWeight  = 40  // a byte of copied text, so that at most 2 × the largest document is encoded
)

// decodedWeight estimates what the decoded form of a JSON text takes on the heap, from
// above, without decoding it.
func decodedWeight(text []byte) int64 {
	weight := 2 * int64(len(text))
	for inString, i := false, 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inString = !inString
		case inString:
			if c == '\\' {
				i++
			} else if c == '/' {
				weight += tokenWeight
			}
		case c == '{':
			weight += objectWeight + membersWeight
		case c == '[':
			weight += arrayWeight
		case c == ',':
			weight += memberWeight
		}
	}
	return weight
}

// cloneValue returns a copy of a value that shares nothing that can be changed with
// it. It takes what the copy weighs from the budget and gives up when that is used up. Names,
// strings and numbers take no heap, but are encoded once more.
func cloneValue(value any, budget *int) any {
	switch value := value.(type) {
	case map[string]any:
		if *budget -= objectWeight + min(len(value), 1)*membersWeight + max(len(value)-8, 0)*memberWeight; *budget < 0 {
			return nil
		}
		copied := make(map[string]any, len(value))
		for name, member := range value {
			*budget -= copiedWeight * len(name)
			copied[name] = cloneValue(member, budget)
		}
		return copied
	case []any:
		if *budget -= arrayWeight + elementWeight*len(value); *budget < 0 {
			return nil
		}
		copied := make([]any, len(value))
		for i, element := range value {
			copied[i] = cloneValue(element, budget)
		}
		return copied
	case string:
		*budget -= copiedWeight * len(value)
	case json.Number:
		*budget -= copiedWeight * len(value)
	}
	return value
}

// equalValues compares values as RFC 6902, section 4.6, does: numbers by what they
// are, not by how they are written.
func equalValues(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equalValues)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalValues)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || exactjson.ParseNumber(string(a)) == exactjson.ParseNumber(string(b)))
	}
	return a == b
}
