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

// answerPast answers a question about the past of a poll, together with equal ones, within the
// budgets of such questions. Each caller learns only what it may see now.
func (a *API) answerPast(r *apiRequest, id string, q pastQuestion, find func(context.Context, *pastAnswer, voting.MemoryHold) error) (*pastAnswer, error) {
	poll, voter := r.caller.poll(id), r.caller.voter()
	q.stream, q.audience = poll.Stream(), r.caller.isAudienceOf(id)
	hidden, resets, err := a.config.Voting.HidesPast(r.Context(), poll, voter, q.audience)
	if err != nil {
		return nil, err
	}
	if q.resets = resets; !hidden {
		answer, err := a.past.ask(r.Context(), q, func() (func(), error) { return a.admitPast(r) },
			func(ctx context.Context, answer *pastAnswer) error { return a.foldPast(ctx, r, answer, find) })
		if err != nil {
			return nil, err
		}
		// Looking again keeps out what was voted after a configuration that hides it.
		hidden, after, err := a.config.Voting.HidesPast(r.Context(), poll, voter, q.audience)
		if err != nil || !hidden && after == resets {
			return answer, err
		}
	}
	release, err := a.admitPast(r)
	if err != nil {
		return nil, err
	}
	defer release()
	own := &pastAnswer{}
	return own, a.foldPast(r.Context(), r, own, find)
}

func (a *API) admitPast(r *apiRequest) (release func(), err error) {
	lease, err := a.config.Budgets.takeHistory(r.caller)
	return lease.Release, err
}

// foldPast finds an answer by folding a log, in the time and the memory for it.
func (a *API) foldPast(ctx context.Context, r *apiRequest, answer *pastAnswer, find func(context.Context, *pastAnswer, voting.MemoryHold) error) error {
	memory := a.config.Budgets.newFoldLease(r.caller)
	defer memory.Release()
	timed, cancel := context.WithTimeout(ctx, historyTimeout)
	defer cancel()
	err := find(timed, answer, memory.hold)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fault.Wrap(fault.Unavailable, err, "the log takes too long to fold")
	}
	return err
}

// tallyAt returns the caller's tally as it was at a time in Unix seconds.
func (a *API) tallyAt(r *apiRequest, id string, at int64) (tally voting.Tally, err error) {
	poll, voter, audience := r.caller.poll(id), r.caller.voter(), r.caller.isAudienceOf(id)
	answer, err := a.answerPast(r, id, pastQuestion{at: at, voter: voter}, func(ctx context.Context, answer *pastAnswer, hold voting.MemoryHold) (err error) {
		answer.tally, err = a.config.Voting.TallyAt(ctx, poll, voter, audience, at, hold)
		return err
	})
	if err != nil {
		return tally, err
	}
	return answer.tally, nil
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
	poll, voter, audience := r.caller.poll(id), r.caller.voter(), r.caller.isAudienceOf(id)
	answer, err := a.answerPast(r, id, pastQuestion{wanted: wanted}, func(ctx context.Context, answer *pastAnswer, hold voting.MemoryHold) (err error) {
		answer.history, err = a.config.Voting.History(ctx, poll, voter, audience, wanted, hold)
		return err
	})
	if err != nil {
		return err
	}
	history := answer.history
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
