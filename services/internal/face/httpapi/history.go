package httpapi

import (
	"net/http"
	"strconv"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/voting"
)

func (a *API) getVoteHistory(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	wanted, err := r.historyRange()
	if err != nil {
		return err
	}
	history, err := a.ReadHistory(r.Context(), &r.Call, id, wanted)
	if err != nil {
		return err
	}
	list := newListWriter(w, r, "points")
	for _, point := range history.Points {
		if err := list.add(pointAnswer(point)); err != nil {
			return err
		}
	}
	switch {
	case history.Hidden:
		return list.end(`,"hidden":true`)
	case history.Begins > 0:
		return list.end(`,"begins":` + strconv.FormatInt(history.Begins, 10))
	}
	return list.end("")
}

// pointAnswer is a point of a history: the statistics of section 2.2, and when they were so, and
// the version of the configuration then.
type pointAnswer voting.HistoryPoint

// MarshalJSON implements [json.Marshaler].
func (p pointAnswer) MarshalJSON() ([]byte, error) {
	buf := strconv.AppendInt([]byte(`{"at":`), p.At, 10)
	if p.Version > 0 {
		buf = strconv.AppendInt(append(buf, `,"version":`...), p.Version, 10)
	}
	return append(append(buf, ','), p.AppendJSON(nil, nil)[1:]...), nil
}

func (r *apiRequest) historyRange() (wanted voting.HistoryRange, err error) {
	if wanted.From, err = r.secondsParameter("from"); err != nil {
		return wanted, err
	}
	if wanted.To, err = r.secondsParameter("to"); err != nil {
		return wanted, err
	}
	wanted.Step, err = r.secondsParameter("step")
	return wanted, err
}

// maxSeconds is a time far away that is exact in every unit.
const maxSeconds = 1 << 40

// secondsParameter returns the query parameter of that name, a time or a length of time in
// seconds, 0 when there is none.
func (r *apiRequest) secondsParameter(name string) (int64, error) {
	text, ok := r.queryParameter(name)
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maxSeconds {
		return 0, fault.Newf(fault.Invalid, "Malformed %s parameter", name)
	}
	return n, nil
}
