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
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Accumulation is what the accumulation routes need of package accumulation.
type Accumulation interface {
	Append(ctx context.Context, b accumulation.Buffer, s accumulation.Submission) error
	Entries(ctx context.Context, b accumulation.Buffer, start int64, channel *string) iter.Seq2[accumulation.Entry, error]
}

// accumulationRoutes are those of section 4.2.
func (a *API) accumulationRoutes() []Route {
	if a.config.Accumulation == nil {
		return nil
	}
	return []Route{
		{Method: http.MethodPost, Path: "/accumulate", access: anyone(), handle: a.postAccumulate},
		{Method: http.MethodGet, Path: "/accumulate", access: staff(), handle: a.getAccumulate, compress: true},
	}
}

func (r *request) buffer() (accumulation.Buffer, error) {
	id, err := r.id()
	return accumulation.Buffer{
		Environment: string(r.caller.Environment),
		Extension:   r.caller.Extension.ClientID,
		Name:        id,
	}, err
}

func (a *API) postAccumulate(w http.ResponseWriter, r *request) error {
	limit := r.caller.Limits().AccumulationEntryBytes
	data, err := compactObject(r.body)
	if max(len(data), len(r.body)) > limit && (err != nil || len(data) > limit) {
		return fault.Newf(fault.TooLarge, "The entry is larger than %d bytes", limit)
	}
	if err != nil {
		return err
	}
	buffer, err := r.buffer()
	if err != nil {
		return err
	}
	return done(w, a.config.Accumulation.Append(r.Context(), buffer, accumulation.Submission{
		ChannelID: r.caller.ChannelID,
		OpaqueID:  r.caller.OpaqueID,
		UserID:    r.caller.UserID,
		Data:      data,
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

// accumulated is an entry as section 2.5 has it.
type accumulated struct {
	Observed  int64           `json:"observed"`
	ChannelID string          `json:"channel_id"`
	OpaqueID  string          `json:"opaque_user_id"`
	UserID    string          `json:"user_id"`
	Data      json.RawMessage `json:"data"`
}

func (a *API) getAccumulate(w http.ResponseWriter, r *request) error {
	buffer, err := r.buffer()
	if err != nil {
		return err
	}
	start, err := r.start()
	if err != nil {
		return err
	}
	var channel *string
	if r.caller.Role == Broadcaster {
		channel = &r.caller.ChannelID
	}
	list, latest := newList(w, r, "data"), int64(0)
	for entry, err := range a.config.Accumulation.Entries(r.Context(), buffer, start, channel) {
		if err != nil {
			return err
		}
		latest = entry.Observed
		if err := list.add(accumulated{entry.Observed, entry.ChannelID, entry.OpaqueID, entry.UserID, entry.Data}); err != nil {
			return err
		}
	}
	return list.end(`,"latest":` + strconv.FormatInt(latest, 10))
}

// start returns the exclusive lower bound in Unix milliseconds.
func (r *request) start() (int64, error) {
	text, ok := r.parameter("start")
	if !ok {
		return 0, nil
	}
	start, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fault.New(fault.Invalid, "Malformed start parameter")
	}
	return start, nil
}
