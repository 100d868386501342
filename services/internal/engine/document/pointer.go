package document

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// jsonPointer is a JSON Pointer (RFC 6901): the unescaped reference tokens. The
// empty pointer names the whole document.
type jsonPointer []string

var (
	errPointer = errors.New(`is not a JSON Pointer: it must be empty or begin with "/", and "~" be followed by 0 or 1`)
	errMissing = errors.New("the path does not exist")
	errIndex   = errors.New("the array has no such index")
)

func parsePointer(text string) (jsonPointer, error) {
	if text == "" {
		return nil, nil
	}
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return nil, errPointer
	}
	tokens := strings.Split(rest, "/")
	for i, token := range tokens {
		if strings.Count(token, "~") != strings.Count(token, "~0")+strings.Count(token, "~1") {
			return nil, errPointer
		}
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
	}
	return tokens, nil
}

// within reports whether p names something inside of what other names.
func (p jsonPointer) within(other jsonPointer) bool {
	return len(p) > len(other) && slices.Equal(p[:len(other)], other)
}

// get returns the value that p names in root.
func (p jsonPointer) get(root any) (any, error) {
	for _, token := range p {
		child, err := lookUp(root, token)
		if err != nil {
			return nil, err
		}
		root = child
	}
	return root, nil
}

// lookUp returns the member or element of a value that a token names.
func lookUp(parent any, token string) (any, error) {
	switch parent := parent.(type) {
	case map[string]any:
		if child, ok := parent[token]; ok {
			return child, nil
		}
	case []any:
		i, err := index(token, len(parent))
		if err != nil {
			return nil, err
		}
		return parent[i], nil
	}
	return nil, errMissing
}

// index returns the array index, below limit, that a token names: digits without
// leading zeros (RFC 6901, section 4).
func index(token string, limit int) (int, error) {
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i >= limit || strconv.Itoa(i) != token {
		return 0, errIndex
	}
	return i, nil
}

// edit returns root after change was made to the parent of what p names, which
// is not the root. change returns the parent, or another in its place.
func (p jsonPointer) edit(root any, change func(parent any, token string) (any, error)) (any, error) {
	parent, err := p[:len(p)-1].get(root)
	if err != nil {
		return nil, err
	}
	changed, err := change(parent, p[len(p)-1])
	if err != nil {
		return nil, err
	}
	return p[:len(p)-1].set(root, changed)
}

// set returns root with the existing value that p names replaced by value.
func (p jsonPointer) set(root, value any) (any, error) {
	if len(p) == 0 {
		return value, nil
	}
	parent, err := p[:len(p)-1].get(root)
	if err != nil {
		return nil, err
	}
	token := p[len(p)-1]
	if _, err := lookUp(parent, token); err != nil {
		return nil, err
	}
	switch parent := parent.(type) {
	case map[string]any:
		parent[token] = value
	case []any:
		i, _ := index(token, len(parent))
		parent[i] = value
	}
	return root, nil
}

// add returns root with value added as RFC 6902, section 4.1, says: in place of
// a member, before an element. It takes the move of the elements behind from the budget.
func (p jsonPointer) add(root, value any, budget *int) (any, error) {
	if len(p) == 0 {
		return value, nil
	}
	return p.edit(root, func(parent any, token string) (any, error) {
		switch parent := parent.(type) {
		case map[string]any:
			parent[token] = value
			return parent, nil
		case []any:
			if token == "-" {
				return append(parent, value), nil
			}
			i, err := index(token, len(parent)+1)
			if err != nil {
				return nil, err
			}
			*budget -= (len(parent) - i) / elementsMoved
			return slices.Insert(parent, i, value), nil
		}
		return nil, errMissing
	})
}

// remove returns root without the value that p names. It takes the move of the elements
// behind from the budget.
func (p jsonPointer) remove(root any, budget *int) (any, error) {
	if len(p) == 0 {
		return nil, errors.New("the whole document cannot be removed")
	}
	return p.edit(root, func(parent any, token string) (any, error) {
		if _, err := lookUp(parent, token); err != nil {
			return nil, err
		}
		switch parent := parent.(type) {
		case map[string]any:
			delete(parent, token)
		case []any:
			i, _ := index(token, len(parent))
			*budget -= (len(parent) - i) / elementsMoved
			return slices.Delete(parent, i, i+1), nil
		}
		return parent, nil
	})
}

// addParents returns root with the missing parents of what p names as empty objects. It takes
// what they weigh from the budget.
func (p jsonPointer) addParents(root any, budget *int) (any, error) {
	for n := 1; n < len(p); n++ {
		if _, err := p[:n].get(root); err == nil {
			continue
		}
		parent, err := p[:n-1].get(root)
		if err != nil {
			return nil, err
		}
		object, ok := parent.(map[string]any)
		if !ok {
			return nil, errMissing
		}
		*budget -= objectWeight + membersWeight
		object[p[n-1]] = map[string]any{}
	}
	return root, nil
}

// removeValue returns root without the elements that equal value in the array that p names.
func (p jsonPointer) removeValue(root, value any) (any, error) {
	found, err := p.get(root)
	if err != nil {
		return nil, err
	}
	array, ok := found.([]any)
	if !ok {
		return nil, errors.New("it is not an array")
	}
	return p.set(root, slices.DeleteFunc(array, func(element any) bool { return equalValues(element, value) }))
}
