package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Accumulation is the part of package accumulation that its routes use.
type Accumulation interface {
	Append(ctx context.Context, b accumulation.Buffer, s accumulation.Submission, keys ...*once.Key) error
	AppendExisting(ctx context.Context, b accumulation.Buffer, s accumulation.Submission, keys ...*once.Key) error
	Clear(ctx context.Context, b accumulation.Buffer) error
	Entries(ctx context.Context, b accumulation.Buffer, start int64, channel *string) iter.Seq2[accumulation.Entry, error]
}

// accumulationRoutes returns the routes of section 4.2.
func accumulationRoutes() []Route {
	return []Route{
		{Method: http.MethodPost, Path: "/accumulate", access: anyone(), handle: (*API).postAccumulate},
		{Method: http.MethodGet, Path: "/accumulate", access: staff(), handle: (*API).getAccumulate, compress: true},
		{Method: http.MethodDelete, Path: "/accumulate", access: adminOrBackend(), handle: (*API).deleteAccumulate},
	}
}

func (r *apiRequest) buffer() (accumulation.Buffer, error) {
	id, err := r.id()
	return accumulation.Buffer{
		Environment: string(r.caller.Environment),
		Extension:   r.caller.Extension.ClientID,
		Name:        id,
	}, err
}

func (a *API) postAccumulate(w http.ResponseWriter, r *apiRequest) error {
	limit := r.caller.Limits().AccumulationEntryBytes
	data, err := compactObject(r.body)
	if max(len(data), len(r.body)) > limit && (err != nil || len(data) > limit) {
		return fault.Newf(fault.TooLarge, "The entry is larger than %d bytes", limit)
	}
	if err == nil {
		err = checkStored(data)
	}
	if err != nil {
		return err
	}
	buffer, err := r.buffer()
	if err != nil {
		return err
	}
	keys, err := a.requestKeys(r, buffer.Name)
	if err != nil {
		return err
	}
	submission := accumulation.Submission{
		ChannelID: r.caller.ChannelID,
		OpaqueID:  r.caller.OpaqueID,
		UserID:    r.caller.UserID,
		Data:      data,
	}
	// Every buffer belongs to the extension; "global" means nothing in its name.
	return writeDoneOnce(w, keys, a.addEntry(r, false, func(existing bool) error {
		if existing {
			return a.config.Accumulation.AppendExisting(r.Context(), buffer, submission, keys...)
		}
		return a.config.Accumulation.Append(r.Context(), buffer, submission, keys...)
	}))
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
	buffer, err := r.buffer()
	if err != nil {
		return err
	}
	start, err := r.startParameter()
	if err != nil {
		return err
	}
	var channel *string
	if r.caller.Role == Broadcaster {
		channel = &r.caller.ChannelID
	}
	list, latest := newListWriter(w, r, "data"), int64(0)
	for entry, err := range a.config.Accumulation.Entries(r.Context(), buffer, start, channel) {
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

// deleteAccumulate removes the entries of all channels, and so is not for broadcasters.
func (a *API) deleteAccumulate(w http.ResponseWriter, r *apiRequest) error {
	buffer, err := r.buffer()
	if err != nil {
		return err
	}
	return writeDone(w, a.config.Accumulation.Clear(r.Context(), buffer))
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
