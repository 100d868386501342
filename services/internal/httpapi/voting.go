package httpapi

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Voting is what the voting routes need of package voting.
type Voting interface {
	Vote(ctx context.Context, p voting.Poll, v voting.Voter, value, count int64) (voting.Tally, error)
	Tally(ctx context.Context, p voting.Poll, v voting.Voter) (voting.Tally, error)
	Reset(ctx context.Context, p voting.Poll) error
	Modify(ctx context.Context, p voting.Poll, user string, add int64) error
	Config(ctx context.Context, p voting.Poll) (voting.Config, voting.Status, bool, error)
	Configure(ctx context.Context, p voting.Poll, c voting.Config) error
	Log(ctx context.Context, p voting.Poll, after voting.Cursor) iter.Seq2[voting.LogRecord, error]
}

// votingRoutes are those of section 4.1.
func (a *API) votingRoutes() []Route {
	if a.config.Voting == nil {
		return nil
	}
	logs := access{roles: []Role{Backend, Admin}, validatedAdmin: true}
	return []Route{
		{Method: http.MethodPost, Path: "/vote", access: anyone(), handle: a.postVote},
		{Method: http.MethodGet, Path: "/vote", access: anyone(), handle: a.getVote},
		{Method: http.MethodDelete, Path: "/vote", access: staff(), handle: a.deleteVote},
		{Method: http.MethodGet, Path: "/vote_logs", access: logs, handle: a.getVoteLogs, compress: true},
		{Method: http.MethodPost, Path: "/vote_modifier", access: staff(), handle: a.postVoteModifier},
		{Method: http.MethodGet, Path: "/vote_config", access: anyone(), handle: a.getVoteConfig},
		{Method: http.MethodPost, Path: "/vote_config", access: staff(), handle: a.postVoteConfig},
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

func (a *API) postVote(w http.ResponseWriter, r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	body := decodeObject(r.body)
	value, count := body.integer("value", 0), body.integer("count", 1)
	if body.err != nil {
		return body.err
	}
	if count == 0 {
		count = 1
	}
	tally, err := a.config.Voting.Vote(r.Context(), r.caller.poll(id), r.caller.voter(), value, count)
	if err != nil {
		return err
	}
	writeTally(w, tally)
	return nil
}

func (a *API) getVote(w http.ResponseWriter, r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	tally, err := a.config.Voting.Tally(r.Context(), r.caller.poll(id), r.caller.voter())
	if err != nil {
		return err
	}
	writeTally(w, tally)
	return nil
}

func writeTally(w http.ResponseWriter, tally voting.Tally) {
	writeJSON(w, http.StatusOK, tally.AppendJSON(make([]byte, 0, 512)))
}

func (a *API) deleteVote(w http.ResponseWriter, r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	return done(w, a.config.Voting.Reset(r.Context(), r.caller.poll(id)))
}

func (a *API) postVoteModifier(w http.ResponseWriter, r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	body := decodeObject(r.body)
	user, add := body.text("user"), body.integer("add", 0)
	if body.err != nil || user == "" || !body.has("add") {
		return errInvalidBody()
	}
	return done(w, a.config.Voting.Modify(r.Context(), r.caller.poll(id), user, add))
}

func (a *API) postVoteConfig(w http.ResponseWriter, r *request) error {
	body := decodeObject(r.body)
	id, in := body.text("id"), body.object("config")
	if body.err != nil {
		return body.err
	}
	config := decodeConfig(in)
	if in.err != nil {
		return in.err
	}
	if id == "" {
		id = defaultID
	}
	return done(w, a.config.Voting.Configure(r.Context(), r.caller.poll(id), config))
}

// decodeConfig reads a configuration (section 2.4): what was left out of the
// limits is 1.
func decodeConfig(in *object) voting.Config {
	return voting.Config{
		UserIDVoting:           in.boolean("userIDVoting"),
		DistinctOptionsPerUser: in.integer("distinctOptionsPerUser", 1),
		TotalVotesPerUser:      in.integer("totalVotesPerUser", 1),
		VotesPerOption:         in.integer("votesPerOption", 1),
		Global:                 in.boolean("global"),
		Disabled:               in.boolean("disabled"),
		Prompt:                 in.text("prompt"),
		Options:                in.texts("options"),
		UserData:               in.members["userData"],
		StartsAt:               in.integer("startsAt", 0),
		EndsAt:                 in.integer("endsAt", 0),
	}
}

// configAnswer is a configuration as GET shows it: without prompt and userData.
type configAnswer struct {
	voting.Config
	Prompt   string          `json:"prompt"`
	UserData json.RawMessage `json:"userData"`
	Options  []string        `json:"options"`
	Status   voting.Status   `json:"status"`
}

func (a *API) getVoteConfig(w http.ResponseWriter, r *request) error {
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
	return encode(w, answer)
}

// logRecord is an element of section 2.3.
type logRecord struct {
	Identifier string `json:"identifier"`
	Opaque     string `json:"opaque"`
	Value      int64  `json:"value"`
	Timestamp  int64  `json:"timestamp"`
}

// getVoteLogs streams the log. A page that limit cuts off ends with the place
// from which the next one goes on.
func (a *API) getVoteLogs(w http.ResponseWriter, r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	limit, err := r.positive("limit")
	if err != nil {
		return err
	}
	cursor, _ := r.parameter("after")
	after, err := voting.ParseCursor(cursor)
	if err != nil {
		return err
	}
	list, next := newList(w, r, "result"), ""
	var last voting.Cursor
	for record, err := range a.config.Voting.Log(r.Context(), r.caller.poll(id), after) {
		if err != nil {
			return err
		}
		if limit > 0 && list.length == limit {
			next = last.String()
			break
		}
		last = record.At
		if err := list.add(logRecord{record.Identifier, record.Opaque, record.Value, record.Timestamp}); err != nil {
			return err
		}
	}
	if next != "" {
		return list.end(`,"next":"` + next + `"`)
	}
	return list.end("")
}

// positive returns the query parameter of that name, 0 when there is none.
func (r *request) positive(name string) (int, error) {
	text, ok := r.parameter(name)
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, fault.Newf(fault.Invalid, "Malformed %s parameter", name)
	}
	return int(n), nil
}
