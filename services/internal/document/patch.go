package document

import (
	"errors"
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// copyBudget bounds, in bytes, what the operations of one patch may copy: a
// handful of "copy" operations that each double the document would otherwise
// fill any memory before the result could be found too large.
const copyBudget = 4 << 20

// Patch returns the change that a JSON Patch (RFC 6902) makes: all of its
// operations in order or, when one of them fails, none. What is not an array of
// well-formed operations is fault.Invalid.
//
// The package has an implementation of its own because the libraries at hand
// panic on null inside of arrays, read numbers as text or as floats, and take
// seconds for a deeply nested value.
func Patch(body []byte) (Change, error) {
	value, err := decodeBody(body)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok {
		return nil, errNoPatch
	}
	p := make(patch, len(list))
	for i, item := range list {
		if p[i], err = parseOperation(item); err != nil {
			return nil, refuse(i, p[i], err)
		}
	}
	return p, nil
}

// patch is a list of operations.
type patch []operation

// operation is one operation of a patch. Its name and path are kept as they were
// sent, for reasons.
type operation struct {
	op, path string
	do       func(root any, budget *int) (any, error)
}

// refuse returns the fault that names the operation.
func refuse(i int, o operation, err error) error {
	return fault.Newf(fault.Invalid, "operation %d (%.20q, path %.200q): %v", i, o.op, o.path, err)
}

func (p patch) apply(body []byte) ([]byte, error) {
	return transform(body, func(root any) (any, error) {
		budget := copyBudget
		for i, o := range p {
			var err error
			if root, err = o.do(root, &budget); err != nil {
				return nil, refuse(i, o, err)
			}
			if budget < 0 {
				return nil, fault.Newf(fault.TooLarge, "operation %d (%q): the patch copies too much", i, o.op)
			}
		}
		return root, nil
	})
}

// parseOperation checks an operation for the members that its kind needs; others
// are ignored (RFC 6902, section 4).
func parseOperation(item any) (operation, error) {
	members, ok := item.(map[string]any)
	if !ok {
		return operation{}, errors.New("an operation must be an object")
	}
	var o operation
	if o.op, ok = members["op"].(string); !ok {
		return o, errors.New(`"op" must be a string`)
	}
	if o.path, ok = members["path"].(string); !ok {
		return o, errors.New(`"path" must be a string`)
	}
	path, err := parsePointer(o.path)
	if err != nil {
		return o, fmt.Errorf(`"path" %w`, err)
	}
	switch o.op {
	case "add", "replace", "test":
		o.do, err = withValue(o.op, path, members)
	case "move", "copy":
		o.do, err = withFrom(o.op, path, members)
	case "remove":
		o.do = func(root any, _ *int) (any, error) { return path.remove(root) }
	default:
		err = errors.New(`"op" must be add, remove, replace, move, copy or test`)
	}
	return o, err
}

// withValue returns what an operation with a value does. A value that goes into
// the document is cloned, because later operations may change it there.
func withValue(op string, path pointer, members map[string]any) (func(any, *int) (any, error), error) {
	value, ok := members["value"]
	if !ok {
		return nil, errors.New(`"value" is missing`)
	}
	switch op {
	case "add":
		return func(root any, budget *int) (any, error) { return path.add(root, clone(value, budget)) }, nil
	case "replace":
		return func(root any, budget *int) (any, error) { return path.set(root, clone(value, budget)) }, nil
	}
	return func(root any, _ *int) (any, error) {
		found, err := path.get(root)
		if err == nil && !equal(found, value) {
			err = errors.New("the value there is another")
		}
		return root, err
	}, nil
}

// withFrom returns what an operation with a source does.
func withFrom(op string, path pointer, members map[string]any) (func(any, *int) (any, error), error) {
	text, ok := members["from"].(string)
	if !ok {
		return nil, errors.New(`"from" must be a string`)
	}
	from, err := parsePointer(text)
	if err != nil {
		return nil, fmt.Errorf(`"from" %w`, err)
	}
	if op == "copy" {
		return func(root any, budget *int) (any, error) {
			value, err := from.get(root)
			if err != nil {
				return nil, fmt.Errorf(`"from": %w`, err)
			}
			return path.add(root, clone(value, budget))
		}, nil
	}
	if path.within(from) {
		return nil, errors.New("a value cannot be moved into itself")
	}
	return func(root any, _ *int) (any, error) { return move(root, from, path) }, nil
}

func move(root any, from, path pointer) (any, error) {
	value, err := from.get(root)
	if err != nil {
		return nil, fmt.Errorf(`"from": %w`, err)
	}
	if len(from) == 0 {
		return root, nil // The whole document, to where it is: it cannot be moved into itself.
	}
	if root, err = from.remove(root); err != nil {
		return nil, err
	}
	return path.add(root, value)
}
