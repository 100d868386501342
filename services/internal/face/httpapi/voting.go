package httpapi

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/schedule"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Voting is the part of package voting that its routes use.
type Voting interface {
	Vote(ctx context.Context, p voting.Poll, v voting.Voter, value, count int64, keys ...*once.Key) (voting.Tally, error)
	VoteExisting(ctx context.Context, p voting.Poll, v voting.Voter, value, count int64, keys ...*once.Key) (voting.Tally, error)
	VoteAll(ctx context.Context, p voting.Poll, votes []voting.Submission, existing bool, whole *once.Key) ([]error, *voting.Statistics, error)
	Tally(ctx context.Context, p voting.Poll, v voting.Voter) (voting.Tally, error)
	TallyAt(ctx context.Context, p voting.Poll, v voting.Voter, viewer bool, at int64, hold voting.MemoryHold) (voting.Tally, error)
	History(ctx context.Context, p voting.Poll, v voting.Voter, viewer bool, r voting.HistoryRange, hold voting.MemoryHold) (voting.History, error)
	HidesPast(ctx context.Context, p voting.Poll, v voting.Voter, viewer bool) (hidden bool, resets uint64, err error)
	Reset(ctx context.Context, p voting.Poll) error
	Modify(ctx context.Context, p voting.Poll, user string, add int64, keys ...*once.Key) error
	Config(ctx context.Context, p voting.Poll) (voting.Config, schedule.Status, bool, error)
	Change(ctx context.Context, p voting.Poll, c voting.Change, keys ...*once.Key) (version int64, known bool, err error)
	Log(ctx context.Context, p voting.Poll, after voting.Cursor) iter.Seq2[voting.LogRecord, error]
	LogWithConfigs(ctx context.Context, p voting.Poll, after voting.Cursor) iter.Seq2[voting.LogRecord, error]
}

// votingRoutes returns the routes of section 4.1.
func votingRoutes() []Route {
	logs := accessRule{roles: []Role{Backend, Admin}, validatedAdmin: true}
	return []Route{
		{Method: http.MethodPost, Path: "/vote", access: anyone(), handle: (*API).postVote},
		{Method: http.MethodGet, Path: "/vote", access: onlookers(), handle: (*API).getVote},
		{Method: http.MethodDelete, Path: "/vote", access: staff(), handle: (*API).deleteVote},
		{Method: http.MethodGet, Path: "/vote_logs", access: logs, handle: (*API).getVoteLogs, compress: true},
		{Method: http.MethodPost, Path: "/vote_modifier", access: staff(), handle: (*API).postVoteModifier},
		{Method: http.MethodGet, Path: "/vote_config", access: onlookers(), handle: (*API).getVoteConfig},
		{Method: http.MethodPost, Path: "/vote_config", access: staff(), handle: (*API).postVoteConfig},
		{Method: http.MethodPatch, Path: "/vote_config", access: staff(), handle: (*API).patchVoteConfig},
	}
}

// poll returns the poll that the id names for the caller (section 2.1).
func (c *Caller) poll(id string) voting.Poll {
	return voting.Poll{
		Environment: string(c.Environment),
		Extension:   c.Extension.ClientID,
		Channel:     c.ChannelID,
		ID:          id,
	}
}

func (c *Caller) voter() voting.Voter {
	return voting.Voter{OpaqueID: c.OpaqueID, UserID: c.UserID}
}

func (a *API) postVote(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	body := decodeObject(r.body)
	value, count := body.vote(), body.integer("count", 1)
	if body.err != nil {
		return body.err
	}
	if count == 0 {
		count = 1
	}
	keys, err := a.requestKeys(r, id)
	if err != nil {
		return err
	}
	var tally voting.Tally
	err = a.addEntry(r, isGlobal(id), func(existing bool) (err error) {
		vote := a.config.Voting.Vote
		if existing {
			vote = a.config.Voting.VoteExisting
		}
		tally, err = vote(r.Context(), r.caller.poll(id), r.caller.voter(), value, count, keys...)
		return err
	})
	if err != nil {
		return err
	}
	markReplayed(w, keys)
	writeTally(w, r.caller, id, tally)
	return nil
}

// vote returns the member value, voting.NoValue where there is none.
func (o *jsonObject) vote() int64 {
	return keepValue(o.integer("value", 0), o.has("value"))
}

// keepValue returns a value as package voting takes it.
func keepValue(value int64, named bool) int64 {
	if !named {
		return voting.NoValue
	}
	return max(value, voting.NoValue+1) // both are out of bounds
}

func (a *API) getVote(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	at, err := r.secondsParameter("at")
	if err != nil {
		return err
	}
	var tally voting.Tally
	if at == 0 {
		tally, err = a.config.Voting.Tally(r.Context(), r.caller.poll(id), r.caller.voter())
	} else {
		tally, err = a.tallyAt(r, id, at)
	}
	if err != nil {
		return err
	}
	writeTally(w, r.caller, id, tally)
	return nil
}

// writeTally answers with what the caller may see of the tally of a poll.
func writeTally(w http.ResponseWriter, to *Caller, id string, tally voting.Tally) {
	if to.isAudienceOf(id) {
		tally = tally.ForViewer()
	}
	writeJSON(w, http.StatusOK, tally.AppendJSON(make([]byte, 0, 512)))
}

func (a *API) deleteVote(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.ownedID()
	if err != nil {
		return err
	}
	return writeDone(w, a.config.Voting.Reset(r.Context(), r.caller.poll(id)))
}

func (a *API) postVoteModifier(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.ownedID()
	if err != nil {
		return err
	}
	body := decodeObject(r.body)
	user, add := body.text("user"), body.integer("add", 0)
	if body.err != nil || user == "" || !body.has("add") {
		return errInvalidBody()
	}
	keys, err := a.requestKeys(r, id)
	if err != nil {
		return err
	}
	if err := a.chargeNewPoll(r, id); err != nil {
		return err
	}
	return writeDoneOnce(w, keys, a.config.Voting.Modify(r.Context(), r.caller.poll(id), user, add, keys...))
}

// decodeConfig reads a configuration (section 2.4): what was left out of the
// limits is 1.
func decodeConfig(in *jsonObject) voting.Config {
	return voting.Config{
		UserIDVoting:           in.boolean("userIDVoting"),
		DistinctOptionsPerUser: in.integer("distinctOptionsPerUser", 1),
		TotalVotesPerUser:      in.integer("totalVotesPerUser", 1),
		VotesPerOption:         in.integer("votesPerOption", 1),
		Global:                 in.boolean("global"),
		Disabled:               in.boolean("disabled"),
		Prompt:                 in.text("prompt"),
		Options:                in.texts("options"),
		UserData:               in.json("userData"),
		Schedule:               decodeSchedule(in),
		ResultsVisibility:      voting.Visibility(in.text("resultsVisibility")),
		ShowCount:              in.boolean("showCount"),
		LoggedInOnly:           in.boolean("loggedInOnly"),
		Strict:                 in.boolean("strict"),
	}
}

func decodeSchedule(in *jsonObject) schedule.Schedule {
	return schedule.Schedule{StartsAt: in.integer("startsAt", 0), EndsAt: in.integer("endsAt", 0)}
}

// configAnswer is the answer to GET /vote_config, which always has prompt, userData
// and options.
type configAnswer struct {
	voting.Config
	Prompt   string          `json:"prompt"`
	UserData json.RawMessage `json:"userData"`
	Options  []string        `json:"options"`
	Status   schedule.Status `json:"status"`
	// These take the place of the configuration's, which GET /poll shows.
	Version         int64 `json:"version,omitempty"`
	QuestionChanged int64 `json:"questionChanged,omitempty"`
}

func (a *API) getVoteConfig(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	config, status, saved, err := a.config.Voting.Config(r.Context(), r.caller.poll(id))
	if err != nil {
		return err
	}
	if !saved {
		writeJSON(w, http.StatusNotFound, []byte("{}")) // the one error without a reason
		return nil
	}
	answer := configAnswer{Config: config, Options: config.Options, Status: status}
	if answer.Options == nil {
		answer.Options = []string{}
	}
	w.Header().Set("ETag", versionTag(config.Version))
	return writeValue(w, answer)
}

// logRecord is an element of section 2.3.
type logRecord struct {
	Identifier string `json:"identifier"`
	Opaque     string `json:"opaque"`
	Value      int64  `json:"value"`
	Timestamp  int64  `json:"timestamp"`
}

// configRecord is an element for a configuration that was saved.
type configRecord struct {
	Config    json.RawMessage `json:"config"`
	Version   int64           `json:"version"`
	Timestamp int64           `json:"timestamp"`
}

// encodeRecord returns the element for a record of a log.
func encodeRecord(r voting.LogRecord) any {
	if r.Config == nil {
		return logRecord{r.Identifier, r.Opaque, r.Value, r.Timestamp}
	}
	config := *r.Config
	config.Version, config.QuestionChanged = 0, 0
	if config.Options == nil {
		config.Options = []string{}
	}
	return configRecord{config.JSON(), r.Config.Version, r.Timestamp}
}

// readLog returns the log that a request asks for.
func (a *API) readLog(r *apiRequest) (func(context.Context, voting.Poll, voting.Cursor) iter.Seq2[voting.LogRecord, error], error) {
	switch configs, _ := r.queryParameter("configs"); configs {
	case "", "false":
		return a.config.Voting.Log, nil
	case "true":
		return a.config.Voting.LogWithConfigs, nil
	}
	return nil, fault.New(fault.Invalid, "Malformed configs parameter")
}

// getVoteLogs streams the log. A page that limit cuts off ends with the cursor of
// the next page.
func (a *API) getVoteLogs(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	limit, err := r.positiveParameter("limit")
	if err != nil {
		return err
	}
	cursor, _ := r.queryParameter("after")
	after, err := voting.ParseCursor(cursor)
	if err != nil {
		return err
	}
	read, err := a.readLog(r)
	if err != nil {
		return err
	}
	list, next := newListWriter(w, r, "result"), ""
	var last voting.Cursor
	for record, err := range read(r.Context(), r.caller.poll(id), after) {
		if err != nil {
			return err
		}
		if limit > 0 && list.length == limit {
			next = last.String()
			break
		}
		last = record.At
		if err := list.add(encodeRecord(record)); err != nil {
			return err
		}
	}
	if next != "" {
		return list.end(`,"next":"` + next + `"`)
	}
	return list.end("")
}

// positiveParameter returns the query parameter of that name, 0 when there is none.
func (r *apiRequest) positiveParameter(name string) (int, error) {
	text, ok := r.queryParameter(name)
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, fault.Newf(fault.Invalid, "Malformed %s parameter", name)
	}
	return int(n), nil
}
