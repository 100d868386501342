package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// historyRoutes returns the route of section 4.1 about the past of a poll.
func historyRoutes() []Route {
	return []Route{{Method: http.MethodGet, Path: "/vote_history", access: onlookers(), handle: (*API).getVoteHistory, compress: true}}
}

// historyTimeout limits the time in which a log is folded.
const historyTimeout = time.Minute

// foldPast runs a question about the past of a poll within the budgets of such questions.
func (a *API) foldPast(r *apiRequest, fold func(context.Context, voting.MemoryHold) error) error {
	lease, err := a.config.Budgets.takeHistory(r.caller)
	if err != nil {
		return err
	}
	defer lease.Release()
	memory := a.config.Budgets.newFoldLease(r.caller)
	defer memory.Release()
	ctx, cancel := context.WithTimeout(r.Context(), historyTimeout)
	defer cancel()
	err = fold(ctx, memory.hold)
	if errors.Is(err, context.DeadlineExceeded) && r.Context().Err() == nil {
		err = fault.Wrap(fault.Unavailable, err, "the log takes too long to fold")
	}
	return err
}

// tallyAt returns the caller's tally as it was at a time in Unix seconds.
func (a *API) tallyAt(r *apiRequest, id string, at int64) (tally voting.Tally, err error) {
	err = a.foldPast(r, func(ctx context.Context, hold voting.MemoryHold) (err error) {
		tally, err = a.config.Voting.TallyAt(ctx, r.caller.poll(id), r.caller.voter(), r.caller.isAudienceOf(id), at, hold)
		return err
	})
	return tally, err
}

func (a *API) getVoteHistory(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	wanted, err := r.historyRange()
	if err != nil {
		return err
	}
	var history voting.History
	err = a.foldPast(r, func(ctx context.Context, hold voting.MemoryHold) (err error) {
		history, err = a.config.Voting.History(ctx, r.caller.poll(id), r.caller.voter(), r.caller.isAudienceOf(id), wanted, hold)
		return err
	})
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

// pointAnswer is a point of a history: the statistics of section 2.2, and when they were so.
type pointAnswer voting.HistoryPoint

// MarshalJSON implements [json.Marshaler].
func (p pointAnswer) MarshalJSON() ([]byte, error) {
	buf := strconv.AppendInt([]byte(`{"at":`), p.At, 10)
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
