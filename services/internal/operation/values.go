package operation

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// CheckStored refuses JSON that readers of what is stored may fail at.
func CheckStored(valid []byte) error {
	if err := exactjson.CheckLimits(valid); err != nil {
		return fault.New(fault.Invalid, err.Error())
	}
	return nil
}

// CompactJSON removes insignificant white space from valid JSON.
func CompactJSON(valid json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if err := json.Compact(&out, valid); err != nil {
		panic(err) // it was decoded before
	}
	return out.Bytes()
}

// IsUserID reports whether s is a shared user id: a decimal string (section
// 2.8).
func IsUserID(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "0123456789") == ""
}

// BodyOf returns the content of a document; that of one that was never written is {}.
func BodyOf(d document.Document) json.RawMessage {
	if d.Body == nil {
		return json.RawMessage("{}")
	}
	return d.Body
}
