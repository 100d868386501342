package httpapi

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/voting"
)

func (a *API) postVote(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	body := operation.DecodeObject(r.Sent)
	vote := voting.Submission{Value: valueOf(body), Count: cmp.Or(body.Integer("count", 1), 1), Version: body.Integer("version", 0)}
	if nonce := body.Text("nonceHash"); nonce != "" && body.Err == nil {
		vote.Nonce, body.Err = parseNonceHash(nonce)
	}
	if body.Err != nil {
		return body.Err
	}
	tally, err := a.CastVote(r.Context(), &r.Call, id, vote)
	if err != nil {
		return err
	}
	writeTally(w, tally)
	return nil
}

// parseNonceHash reads the digest of a nonce: 16 bytes in base64.
func parseNonceHash(text string) (*verifiable.NonceHash, error) {
	decoded, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(decoded) != len(verifiable.NonceHash{}) {
		return nil, operation.NewInvalidMember("nonceHash must be 16 bytes in base64")
	}
	hash := verifiable.NonceHash(decoded)
	return &hash, nil
}

// valueOf returns the member value, voting.NoValue where there is none.
func valueOf(o *operation.Object) int64 {
	return keepValue(o.Integer("value", 0), o.Has("value"))
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
	if r.Caller.Role == operation.Device {
		return a.getDeviceVote(w, r, id, at)
	}
	tally, err := a.ReadTally(r.Context(), &r.Call, id, at)
	if err != nil {
		return err
	}
	writeTally(w, tally)
	return nil
}

func writeTally(w http.ResponseWriter, tally voting.Tally) {
	buf := tally.AppendJSON(make([]byte, 0, 512))
	if l := tally.Listed; l != nil {
		buf = append(appendListed(buf[:len(buf)-1], l), '}')
	}
	if tally.Devices > 0 {
		buf = fmt.Appendf(buf[:len(buf)-1], `,"devices":%d}`, tally.Devices)
	}
	writeJSON(w, http.StatusOK, buf)
}

// appendListed adds the place of a vote to a JSON object without its end.
func appendListed(buf []byte, l *voting.Listed) []byte {
	return fmt.Appendf(buf, `,"listed":{"tree":"%s","index":%d,"voter":%d}`, l.Tree, l.Index, l.Voter)
}

func (a *API) deleteVote(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	return writeDone(w, a.ResetPoll(r.Context(), &r.Call, id))
}

func (a *API) postVoteModifier(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.ownedID()
	if err != nil {
		return err
	}
	body := operation.DecodeObject(r.Sent)
	user, add := body.Text("user"), body.Integer("add", 0)
	if body.Needs("add"); body.Err != nil {
		return body.Err
	}
	if user == "" {
		return operation.NewInvalidMember("user is missing or empty")
	}
	return writeDone(w, a.ModifyVotes(r.Context(), &r.Call, id, user, add))
}

// configAnswer is the answer to GET /vote_config, which always has prompt, userData
// and options.
type configAnswer struct {
	voting.Config
	Prompt   string          `json:"prompt"`
	UserData json.RawMessage `json:"userData"`
	Options  []string        `json:"options"`
	Status   contract.Status `json:"status"`
	// These take the place of the configuration's, which GET /poll shows.
	Version         int64 `json:"version,omitempty"`
	QuestionChanged int64 `json:"questionChanged,omitempty"`
}

func (a *API) getVoteConfig(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	config, status, saved, err := a.ReadPollConfig(r.Context(), &r.Call, id)
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

// logsConfigs reports whether a request for a log asks for the configurations in it.
func (r *apiRequest) logsConfigs() (bool, error) {
	switch configs, _ := r.queryParameter("configs"); configs {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, fault.New(fault.Invalid, "Malformed configs parameter")
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
	configs, err := r.logsConfigs()
	if err != nil {
		return err
	}
	list, next := newListWriter(w, r, "result"), ""
	var last voting.Cursor
	for record, err := range a.ReadVoteLog(r.Context(), &r.Call, id, after, configs) {
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
