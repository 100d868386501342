package document

// Merge returns the change that a JSON Merge Patch (RFC 7396) makes. What is not
// an object is fault.Invalid.
func Merge(body []byte) (Change, error) {
	if err := checkText(body, '{', errNoPatch); err != nil {
		return nil, err
	}
	return mergePatch(body), nil
}

// mergePatch is the text of a JSON Merge Patch.
type mergePatch []byte

func (m mergePatch) prepare() (applyFunc, error) {
	patch, err := decodeValue(m)
	if err != nil {
		return nil, errMalformed
	}
	return func(body []byte, _ int) ([]byte, error) {
		return transformBody(body, func(target any) (any, error) { return mergeValues(target, patch), nil })
	}, nil
}

// weight is twice that of the text, because mergeValues makes each object again.
func (m mergePatch) weight() int64 { return 2 * decodedWeight(m) }

// mergeValues is MergePatch of RFC 7396, section 2. It changes target and leaves patch
// as it is; the result may share arrays with both.
func mergeValues(target, patch any) any {
	members, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = make(map[string]any, len(members))
	}
	for name, value := range members {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = mergeValues(object[name], value)
		}
	}
	return object
}
