package document

import (
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Merge returns the change that a JSON Merge Patch (RFC 7396) makes. What is not
// an object is fault.Invalid.
func Merge(body []byte) (Change, error) {
	compact, err := compactText(body, '{', errNoPatch)
	if err != nil {
		return nil, err
	}
	return mergePatch(compact), nil
}

// mergePatch is the compact text of a JSON Merge Patch.
type mergePatch []byte

func (m mergePatch) prepare() (applyFunc, error) {
	// Each level of a patch is read once more, and no document takes a deeper one.
	if err := exactjson.CheckLimits(m); err != nil {
		return nil, fault.New(fault.Invalid, err.Error())
	}
	return func(body []byte, _ int) ([]byte, error) {
		merged, err := exactjson.MergePatch(body, []byte(m))
		if err != nil {
			return nil, fault.Wrap(fault.Internal, err, "The stored document cannot be read")
		}
		return merged, nil
	}, nil
}

func (m mergePatch) weight() int64 { return decodedWeight(m) }
