package httpapi

import (
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// isObject reports whether a body is a valid JSON object and nothing else.
func isObject(body []byte) bool {
	return utf8.Valid(body) && json.Valid(body) && skipSpace(body)[0] == '{'
}

// jsonElements yields the elements of a JSON array that was checked to be valid. Unlike
// [json.Unmarshal] it neither allocates nor reads it again: bodies with many elements are
// the same ones over and over.
func jsonElements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for rest := skipSpace(array[1:]); rest[0] != ']'; rest = skipComma(rest) {
			size := valueSize(rest)
			if !yield(rest[:size]) {
				return
			}
			rest = rest[size:]
		}
	}
}

// jsonMembers yields the names, with their quotes and without escapes, and the values of the
// members of a JSON object that was checked to be valid.
func jsonMembers(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for rest := skipSpace(skipSpace(object)[1:]); rest[0] != '}'; rest = skipComma(rest) {
			size := valueSize(rest)
			name := withoutEscapes(rest[:size])
			rest = skipSpace(skipSpace(rest[size:])[1:]) // the colon
			size = valueSize(rest)
			if !yield(name, rest[:size]) {
				return
			}
			rest = rest[size:]
		}
	}
}

// skipComma returns what follows an element: the next one, or the closing bracket.
func skipComma(rest []byte) []byte {
	rest = skipSpace(rest)
	if rest[0] == ',' {
		rest = skipSpace(rest[1:])
	}
	return rest
}

func skipSpace(rest []byte) []byte {
	for rest[0] == ' ' || rest[0] == '\n' || rest[0] == '\r' || rest[0] == '\t' {
		rest = rest[1:]
	}
	return rest
}

// valueSize returns the length of the value with which valid JSON begins.
func valueSize(rest []byte) int {
	depth := 0
	for i := 0; ; i++ {
		switch rest[i] {
		case '"':
			i += stringSize(rest[i:]) - 1
		case '[', '{':
			depth++
			continue
		case ']', '}':
			depth--
		case ',', ':', ' ', '\n', '\r', '\t':
			continue
		default: // a literal
			for i+1 < len(rest) && isLiteral(rest[i+1]) {
				i++
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
}

// stringSize returns the length of the string with which valid JSON begins.
func stringSize(rest []byte) int {
	for i := 1; ; i++ {
		switch rest[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// isLiteral reports whether a byte may stand in a number, true, false or null.
func isLiteral(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == 'E' || c == '.' || c == '+' || c == '-'
}

// withoutEscapes returns a JSON string without those escapes that it does not need.
func withoutEscapes(name []byte) []byte {
	for _, c := range name {
		if c == '\\' {
			var text string
			if json.Unmarshal(name, &text) != nil {
				return name
			}
			return []byte(`"` + text + `"`)
		}
	}
	return name
}
