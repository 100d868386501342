package exactjson

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// MergePatch returns target as a JSON Merge Patch changes it (RFC 7396, section 2). Both are
// valid JSON; a target of no bytes is absent. Values of either keep how they are written; members
// of an object that changes are sorted by name, and each name is there once.
func MergePatch(target, patch json.RawMessage) (json.RawMessage, error) {
	return appendMerged(nil, target, patch)
}

// appendMerged appends what the patch makes of target.
func appendMerged(b, target, patch []byte) ([]byte, error) {
	if !isObject(patch) {
		return append(b, patch...), nil
	}
	changes, err := parseSorted(patch)
	var members Members
	if err == nil && isObject(target) {
		members, err = parseSorted(target)
	}
	if err != nil {
		return nil, err
	}
	if b, err = appendChanged(append(b, '{'), members, changes); err != nil {
		return nil, err
	}
	return append(b, '}'), nil
}

// appendChanged appends members with changes of a patch. Both are sorted by name.
func appendChanged(b []byte, members, changes Members) (_ []byte, err error) {
	for len(members) > 0 || len(changes) > 0 {
		var before json.RawMessage
		switch order := compareFirst(members, changes); {
		case order < 0:
			b = append(appendName(b, members[0].Name), members[0].Value...)
			members = members[1:]
			continue
		case order == 0:
			before, members = members[0].Value, members[1:]
		}
		change := changes[0]
		changes = changes[1:]
		if string(change.Value) == "null" {
			continue
		}
		if b, err = appendMerged(appendName(b, change.Name), before, change.Value); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// compareFirst compares the first names of two lists that are not both empty. The end of a list
// comes last.
func compareFirst(a, b Members) int {
	switch {
	case len(b) == 0:
		return -1
	case len(a) == 0:
		return 1
	}
	return compareNames(a[0], b[0])
}

func compareNames(a, b Member) int { return bytes.Compare(a.Name, b.Name) }

// appendName appends the name of a member and what precedes it in an object that has begun.
func appendName(b, name []byte) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b, _ = jsontext.AppendQuote(b, name) // it is valid UTF-8
	return append(b, ':')
}

// parseSorted returns the members of an object by their names, of those of one name the last.
func parseSorted(text []byte) (Members, error) {
	members, err := ParseMembers(text)
	slices.Reverse(members)
	slices.SortStableFunc(members, compareNames)
	return slices.CompactFunc(members, func(a, b Member) bool { return compareNames(a, b) == 0 }), err
}

func isObject(text []byte) bool {
	for _, c := range text {
		switch c {
		case ' ', '\t', '\n', '\r':
		default:
			return c == '{'
		}
	}
	return false
}

// DecodePatched decodes a document into v as a merge patch changes it.
func DecodePatched(document, patch json.RawMessage, v any) error {
	merged, err := MergePatch(document, patch)
	if err != nil {
		return err
	}
	return json.Unmarshal(merged, v)
}
