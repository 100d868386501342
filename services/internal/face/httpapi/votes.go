package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// submissionBytes approximates what a vote takes beside its bytes in the body, while it is
// decided.
const submissionBytes = 256

func (a *API) postVotes(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	scope := func() *once.Scope { return a.KeyScope(&r.Call, id+"\x00vote") }
	votes, err := decodeSubmissions(r.Sent, sync.OnceValue(scope))
	if err != nil {
		return err
	}
	size := submissionBytes * len(votes)
	if err := r.bodyLeases.ForBuffer(size).Take(int64(size)); err != nil {
		return limit.Fault(err, operation.TooManyBytes)
	}
	refusals, after, err := a.CastVotes(r.Context(), &r.Call, id, votes)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, appendVerdicts(after.AppendJSON(make([]byte, 0, 512+24*len(votes)), nil), votes, refusals))
	return nil
}

// appendVerdicts adds the answer to each of several votes to a JSON object.
func appendVerdicts(object []byte, votes []voting.Submission, refusals []error) []byte {
	buf := append(object[:len(object)-1], `,"results":[`...)
	for i, refusal := range refusals {
		if i > 0 {
			buf = append(buf, ',')
		}
		if refusal == nil && votes[i].Key != nil && votes[i].Key.Replayed {
			buf = append(buf, `{"accepted":true,"replayed":true}`...)
			continue
		}
		if refusal == nil {
			buf = append(buf, `{"accepted":true}`...)
			continue
		}
		buf = append(buf, `{"accepted":false,"reason":`...)
		buf = append(append(buf, encodeReason(refusal)...), '}')
	}
	return append(buf, "]}"...)
}

// encodeReason returns the reason of a refusal as JSON.
func encodeReason(refusal error) []byte {
	reason := "Internal error"
	if f, ok := errors.AsType[*fault.Error](refusal); ok {
		reason = f.Reason
	}
	encoded, err := json.Marshal(reason)
	if err != nil {
		panic(err) // a string always encodes
	}
	return encoded
}

// decodeSubmissions reads the votes in a body. Their keys belong to the scope.
func decodeSubmissions(body []byte, scope func() *once.Scope) ([]voting.Submission, error) {
	if !isObject(body) {
		return nil, operation.ErrInvalidBody()
	}
	var list []byte
	for name, value := range jsonMembers(body) {
		if string(name) == `"votes"` {
			list = value // of several the last
		}
	}
	if len(list) == 0 || list[0] != '[' {
		return nil, operation.NewInvalidMember("votes must be an array")
	}
	votes := make([]voting.Submission, 0, min(voting.MaxSubmissions, len(list)/typicalSubmission+1))
	for element := range jsonElements(list) {
		if len(votes) == voting.MaxSubmissions {
			return nil, errSubmissions()
		}
		vote, err := decodeSubmission(element, scope)
		if member, ok := errors.AsType[operation.InvalidMember](err); ok {
			err = operation.NewInvalidMember(fmt.Sprintf("votes.%d.%s", len(votes), string(member)))
		}
		if err != nil {
			return nil, err
		}
		votes = append(votes, vote)
	}
	if len(votes) == 0 {
		return nil, errSubmissions()
	}
	return votes, nil
}

// typicalSubmission is the length of a short vote with its comma, for the room that votes take.
const typicalSubmission = len(`{"user_id":"100200300","value":1},`)

func errSubmissions() error {
	return fault.Newf(fault.Invalid, "votes must have 1 to %d elements", voting.MaxSubmissions)
}

// decodeSubmission reads one vote: of the members that it knows the last of a name counts, as
// everywhere.
func decodeSubmission(element []byte, scope func() *once.Scope) (voting.Submission, error) {
	vote, key := voting.Submission{Count: 1, Value: voting.NoValue}, (*string)(nil)
	if element[0] != '{' {
		return vote, operation.ErrInvalidBody()
	}
	for name, value := range jsonMembers(element) {
		ok := true
		switch string(name) {
		case `"user_id"`:
			vote.Voter.UserID, ok = exactjson.ParseText(value)
		case `"opaque_user_id"`:
			vote.Voter.OpaqueID, ok = exactjson.ParseText(value)
		case `"value"`:
			vote.Value, ok = operation.ParseInteger(string(value))
			vote.Value = keepValue(vote.Value, true)
		case `"count"`:
			vote.Count, ok = operation.ParseInteger(string(value))
		case `"key"`:
			var text string
			text, ok = exactjson.ParseText(value)
			key = &text
		}
		if !ok {
			return vote, operation.NewInvalidMember(strings.Trim(string(name), `"`) + " has the wrong type")
		}
	}
	vote.Count = cmp.Or(vote.Count, 1)
	if len(vote.Voter.UserID) > contract.MaxID {
		return vote, operation.NewInvalidMember("user_id is too long")
	}
	if len(vote.Voter.OpaqueID) > contract.MaxID {
		return vote, operation.NewInvalidMember("opaque_user_id is too long")
	}
	if key == nil {
		return vote, nil
	}
	return withKey(vote, *key, scope)
}

// withKey returns a vote with the key that its client gave it.
func withKey(vote voting.Submission, key string, scope func() *once.Scope) (voting.Submission, error) {
	if !operation.IsKey(key) {
		return vote, operation.NewInvalidMember("key is no key")
	}
	said := fmt.Appendf(nil, "%q %q %d %d", vote.Voter.OpaqueID, vote.Voter.UserID, voting.ValueOrZero(vote.Value), vote.Count)
	vote.Key = scope().NewKey(key, said)
	return vote, nil
}
