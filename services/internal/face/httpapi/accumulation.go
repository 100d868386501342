package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

func (a *API) postAccumulate(w http.ResponseWriter, r *apiRequest) error {
	limit := r.Caller.Limits().AccumulationEntryBytes
	data, err := compactObject(r.Sent)
	if max(len(data), len(r.Sent)) > limit && (err != nil || len(data) > limit) {
		return fault.Newf(fault.TooLarge, "The entry is larger than %d bytes", limit)
	}
	if err == nil {
		err = operation.CheckStored(data)
	}
	if err != nil {
		return err
	}
	id, err := r.anyID()
	if err != nil {
		return err
	}
	return writeDone(w, a.AppendEntry(r.Context(), &r.Call, id, data))
}

// compactObject returns a JSON object without insignificant white space.
func compactObject(body []byte) (json.RawMessage, error) {
	var compact bytes.Buffer
	compact.Grow(len(body))
	if !utf8.Valid(body) || json.Compact(&compact, body) != nil || compact.Len() == 0 || compact.Bytes()[0] != '{' {
		return nil, fault.New(fault.Invalid, "Malformed json body")
	}
	return compact.Bytes(), nil
}

func (a *API) getAccumulate(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.anyID()
	if err != nil {
		return err
	}
	start, err := r.startParameter()
	if err != nil {
		return err
	}
	list, latest := newListWriter(w, r, "data"), int64(0)
	for entry, err := range a.ReadEntries(r.Context(), &r.Call, id, start) {
		if err != nil {
			return err
		}
		latest = entry.Observed
		if err := list.add(entry); err != nil {
			return err
		}
	}
	return list.end(`,"latest":` + strconv.FormatInt(latest, 10))
}

func (a *API) deleteAccumulate(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.anyID()
	if err != nil {
		return err
	}
	return writeDone(w, a.ClearBuffer(r.Context(), &r.Call, id))
}

// startParameter returns the exclusive lower bound in Unix milliseconds.
func (r *apiRequest) startParameter() (int64, error) {
	text, ok := r.queryParameter("start")
	if !ok {
		return 0, nil
	}
	start, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fault.New(fault.Invalid, "Malformed start parameter")
	}
	return start, nil
}
