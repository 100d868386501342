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
	verdicts, err := a.CastVotes(r.Context(), &r.Call, id, votes)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, appendVerdicts(verdicts.After.AppendJSON(make([]byte, 0, 512+24*len(votes)), nil), votes, verdicts))
	return nil
}

// appendVerdicts adds the answer to each of several votes to a JSON object.
func appendVerdicts(object []byte, votes []voting.Submission, verdicts voting.Verdicts) []byte {
	buf := append(object[:len(object)-1], `,"results":[`...)
	for i, refusal := range verdicts.Refusals {
		if i > 0 {
			buf = append(buf, ',')
		}
		if refusal != nil {
			buf = append(buf, `{"accepted":false,"reason":`...)
			buf = append(append(buf, encodeReason(refusal)...), '}')
			continue
		}
		buf = append(buf, `{"accepted":true`...)
		if votes[i].Key != nil && votes[i].Key.Replayed {
			buf = append(buf, `,"replayed":true`...)
		}
		if verdicts.Listed != nil && verdicts.Listed[i] != nil {
			buf = appendListed(buf, verdicts.Listed[i])
		}
		buf = append(buf, '}')
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
	plain := plainVotes{text: string(body), scope: scope}
	if votes, ok := plain.readVotes(); ok {
		return votes, nil
	}
	return decodeAnySubmissions(body, scope)
}

// decodeAnySubmissions is decodeSubmissions for bodies that are not written plainly.
func decodeAnySubmissions(body []byte, scope func() *once.Scope) ([]voting.Submission, error) {
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
	votes := makeSubmissions(len(list))
	for element := range jsonElements(list) {
		if len(votes) == contract.MaxVotes {
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

// makeSubmissions makes room for the votes in a text of a length.
func makeSubmissions(length int) []voting.Submission {
	return make([]voting.Submission, 0, min(contract.MaxVotes, length/typicalSubmission+1))
}

// typicalSubmission is the length of a short vote with its comma, for the room that votes take.
const typicalSubmission = len(`{"user_id":"100200300","value":1},`)

func errSubmissions() error {
	return fault.Newf(fault.Invalid, "votes must have 1 to %d elements", contract.MaxVotes)
}

// writtenVote is one vote of a body.
type writtenVote struct {
	voting.Submission
	key   string
	keyed bool
	nonce string
}

// newWrittenVote returns a vote without members.
func newWrittenVote() writtenVote {
	return writtenVote{Submission: voting.Submission{Count: 1, Value: voting.NoValue}}
}

// decodeSubmission reads one vote: of the members that it knows the last of a name counts, as
// everywhere.
func decodeSubmission(element []byte, scope func() *once.Scope) (voting.Submission, error) {
	vote := newWrittenVote()
	if element[0] != '{' {
		return vote.Submission, operation.ErrInvalidBody()
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
		case `"nonceHash"`:
			vote.nonce, ok = exactjson.ParseText(value)
		case `"key"`:
			vote.key, ok = exactjson.ParseText(value)
			vote.keyed = true
		}
		if !ok {
			return vote.Submission, operation.NewInvalidMember(strings.Trim(string(name), `"`) + " has the wrong type")
		}
	}
	return vote.complete(scope)
}

// complete returns the vote with its defaults and the key that its client gave it.
func (v *writtenVote) complete(scope func() *once.Scope) (voting.Submission, error) {
	v.Count = cmp.Or(v.Count, 1)
	if len(v.Voter.UserID) > contract.MaxID {
		return v.Submission, operation.NewInvalidMember("user_id is too long")
	}
	if len(v.Voter.OpaqueID) > contract.MaxID {
		return v.Submission, operation.NewInvalidMember("opaque_user_id is too long")
	}
	if v.nonce != "" {
		var err error
		if v.Nonce, err = parseNonceHash(v.nonce); err != nil {
			return v.Submission, err
		}
	}
	if !v.keyed {
		return v.Submission, nil
	}
	if !operation.IsKey(v.key) {
		return v.Submission, operation.NewInvalidMember("key is no key")
	}
	said := fmt.Appendf(nil, "%q %q %d %d", v.Voter.OpaqueID, v.Voter.UserID, voting.ValueOrZero(v.Value), v.Count)
	v.Key = scope().NewKey(v.key, said)
	return v.Submission, nil
}
