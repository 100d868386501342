package document

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// copyFactor times the largest document, in bytes, bounds what the operations of one
// patch may copy, in bytes of heap: a handful of "copy" operations that each double the
// document would otherwise fill any memory before the result could be found too large.
// No byte of JSON takes more than 71, in nested objects of one member, so that a copy fits
// whenever its result does.
const copyFactor = 80

// elementsMoved elements of an array that an operation moves count as a copied byte: the
// largest document of 64 KiB may be inserted into at its front 700 times, which takes some
// 50 ms of processor time.
const elementsMoved = 4

// Patch returns the change that a JSON Patch (RFC 6902) makes: all of its
// operations in order or, when one of them fails, none. What is not an array of
// well-formed operations is fault.Invalid.
//
// The package has an implementation of its own because
// github.com/evanphx/json-patch panics on null inside of arrays, compares numbers
// by how they are written, takes seconds for some small requests, and does not say
// which operation failed. BenchmarkPatch compares the two on ordinary patches.
func Patch(body []byte) (Change, error) {
	if err := checkText(body, '[', errNoPatch); err != nil {
		return nil, err
	}
	return jsonPatch(body), nil
}

// GamePatch returns the change that games ask for: a JSON Patch in which "add" (and
// "add_intermediates", another name for it) creates missing parents that are objects, and
// "remove_value" takes all elements that equal value out of an array. Operations have no
// "from", so that "move" and "copy" are refused.
func GamePatch(body []byte) (Change, error) {
	if err := checkText(body, '[', errNoPatch); err != nil {
		return nil, err
	}
	return gamePatch(body), nil
}

type gamePatch []byte

func (p gamePatch) weight() int64 { return decodedWeight(p) }

func (p gamePatch) prepare() (applyFunc, error) { return preparePatch(p, parseGameOperation) }

// parseGameOperation is parseOperation for a game.
func parseGameOperation(item any) (o patchOperation, err error) {
	members, ok := item.(map[string]any)
	if !ok {
		return o, errors.New("it is not an object")
	}
	o.op, _ = members["op"].(string)
	if o.op != "add" && o.op != "add_intermediates" && o.op != "remove_value" {
		return parseOperation(item)
	}
	if o.path, ok = members["path"].(string); !ok {
		return o, errors.New(`"path" must be a string`)
	}
	path, err := parsePointer(o.path)
	if err != nil {
		return o, fmt.Errorf(`"path" %w`, err)
	}
	value, ok := members["value"]
	if !ok {
		return o, errors.New(`"value" is missing`)
	}
	if o.op == "remove_value" {
		o.do = func(root any, _ *int) (any, error) { return path.removeValue(root, value) }
		return o, nil
	}
	o.do = func(root any, budget *int) (any, error) {
		if root, err := path.addParents(root, budget); err == nil {
			return path.add(root, value, budget)
		}
		return path.add(root, value, budget) // which fails with the reason
	}
	return o, nil
}

// jsonPatch is the text of a list of operations.
type jsonPatch []byte

func (p jsonPatch) weight() int64 { return decodedWeight(p) }

func (p jsonPatch) prepare() (applyFunc, error) { return preparePatch(p, parseOperation) }

// preparePatch decodes a list of operations.
func preparePatch(p []byte, parse func(item any) (patchOperation, error)) (applyFunc, error) {
	value, err := decodeValue(p)
	if err != nil {
		return nil, errMalformed
	}
	list, ok := value.([]any)
	if !ok {
		return nil, errNoPatch
	}
	operations := make([]patchOperation, len(list))
	for i, item := range list {
		if operations[i], err = parse(item); err != nil {
			return nil, refuse(i, operations[i], err)
		}
	}
	return func(body []byte, limit int) ([]byte, error) {
		return transformBody(body, func(root any) (any, error) { return applyOperations(root, operations, copyFactor*limit) })
	}, nil
}

// patchOperation is one operation of a patch. Its name and path are kept as they were
// sent, for reasons.
type patchOperation struct {
	op, path string
	do       func(root any, budget *int) (any, error)
}

// refuse returns the fault that names the operation.
func refuse(i int, o patchOperation, err error) error {
	return fault.Newf(fault.Invalid, "operation %d (%.20q, path %.200q): %v", i, o.op, o.path, err)
}

// applyOperations returns root after all operations, which may copy so many bytes.
func applyOperations(root any, operations []patchOperation, budget int) (any, error) {
	for i, o := range operations {
		if i > 0 {
			runtime.Gosched() // an operation may take a millisecond, and others wait
		}
		var err error
		if root, err = o.do(root, &budget); err != nil {
			return nil, refuse(i, o, err)
		}
		if budget < 0 {
			return nil, fault.Newf(fault.TooLarge, "operation %d (%q): the patch copies too much", i, o.op)
		}
	}
	return root, nil
}

// parseOperation checks an operation for the members that its kind needs; others
// are ignored (RFC 6902, section 4).
func parseOperation(item any) (patchOperation, error) {
	members, ok := item.(map[string]any)
	if !ok {
		return patchOperation{}, errors.New("an operation must be an object")
	}
	var o patchOperation
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
		o.do = path.remove
	default:
		err = errors.New(`"op" must be add, remove, replace, move, copy or test`)
	}
	return o, err
}

// withValue returns what an operation with a value does. The value itself goes into the
// document: each evaluation decodes the patch again.
func withValue(op string, path jsonPointer, members map[string]any) (func(any, *int) (any, error), error) {
	value, ok := members["value"]
	if !ok {
		return nil, errors.New(`"value" is missing`)
	}
	switch op {
	case "add":
		return func(root any, budget *int) (any, error) { return path.add(root, value, budget) }, nil
	case "replace":
		return func(root any, _ *int) (any, error) { return path.set(root, value) }, nil
	}
	return func(root any, _ *int) (any, error) {
		found, err := path.get(root)
		if err == nil && !equalValues(found, value) {
			err = errors.New("the value there is another")
		}
		return root, err
	}, nil
}

// withFrom returns what an operation with a source does.
func withFrom(op string, path jsonPointer, members map[string]any) (func(any, *int) (any, error), error) {
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
			return path.add(root, cloneValue(value, budget), budget)
		}, nil
	}
	if path.within(from) {
		return nil, errors.New("a value cannot be moved into itself")
	}
	return func(root any, budget *int) (any, error) { return move(root, from, path, budget) }, nil
}

func move(root any, from, path jsonPointer, budget *int) (any, error) {
	value, err := from.get(root)
	if err != nil {
		return nil, fmt.Errorf(`"from": %w`, err)
	}
	if len(from) == 0 {
		return root, nil // The whole document, to where it is: it cannot be moved into itself.
	}
	if root, err = from.remove(root, budget); err != nil {
		return nil, err
	}
	return path.add(root, value, budget)
}
