package exactjson

import "encoding/json"

// MergePatch returns target as a JSON Merge Patch changes it (RFC 7396, section 2). Both are
// valid JSON; a target of no bytes is absent. Arrays and numbers of either keep how they are
// written; members of an object that changes are sorted by name.
func MergePatch(target, patch json.RawMessage) (json.RawMessage, error) {
	if !isObject(patch) {
		return patch, nil
	}
	var changes, members map[string]json.RawMessage
	if err := json.Unmarshal(patch, &changes); err != nil {
		return nil, err
	}
	if isObject(target) {
		if err := json.Unmarshal(target, &members); err != nil {
			return nil, err
		}
	}
	if members == nil {
		members = make(map[string]json.RawMessage, len(changes))
	}
	for name, change := range changes {
		if string(change) == "null" {
			delete(members, name)
			continue
		}
		merged, err := MergePatch(members[name], change)
		if err != nil {
			return nil, err
		}
		members[name] = merged
	}
	return Marshal(members)
}

func isObject(text json.RawMessage) bool {
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
