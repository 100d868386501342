package document

// Merge returns the change that a JSON Merge Patch (RFC 7396) makes. What is not
// an object is fault.Invalid.
func Merge(body []byte) (Change, error) {
	value, err := decodeBody(body)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errNoPatch
	}
	return mergePatch(object), nil
}

type mergePatch map[string]any

func (m mergePatch) apply(body []byte) ([]byte, error) {
	return transform(body, func(target any) (any, error) {
		return merge(target, map[string]any(m)), nil
	})
}

// merge is MergePatch of RFC 7396, section 2. It changes target and leaves patch
// as it is; the result may share arrays with both.
func merge(target, patch any) any {
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
			object[name] = merge(object[name], value)
		}
	}
	return object
}
