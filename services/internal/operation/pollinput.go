package operation

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// ParsePollConfig returns the change that replaces the configuration of a poll by that of a JSON
// object. It ignores members that it does not know.
func ParsePollConfig(config json.RawMessage) (voting.Change, error) {
	body := DecodeMember("config", config)
	in := body.Object("config")
	change := voting.Change{Config: DecodeConfig(in)}
	return change, NameInvalid(cmp.Or(body.Err, in.Err, CheckStored(in.JSON("userData"))))
}

// ParsePollPatch returns the change that a JSON Merge Patch makes of the configuration of a poll.
func ParsePollPatch(patch json.RawMessage) (change voting.Change, err error) {
	body := DecodeMember("config", patch)
	in := body.Object("config")
	change.Patch, err = DecodePatch(in, func(in *Object) any { return DecodeConfig(in) })
	return change, cmp.Or(body.Err, err, CheckStored(in.JSON("userData")))
}

// NameInvalid moves the member for which a body is refused from the reason, which the contract
// fixes, to the header.
func NameInvalid(err error) error {
	refused, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	member, named := strings.CutPrefix(refused.Reason, ErrInvalidBody().Error()+": ")
	if !named {
		return err
	}
	return NewInvalidMember(member)
}

// DecodePatch returns the JSON Merge Patch in an object, of a configuration that decode reads.
// A member other than null is as decode understands it, so that 1.0 is 1.
func DecodePatch(in *Object, decode func(*Object) any) (json.RawMessage, error) {
	patch := in.All()
	typed := &Object{strict: true, path: in.path}
	for name, value := range patch {
		if string(value) != "null" {
			typed.members = append(typed.members, exactjson.Member{Name: []byte(name), Value: value})
		}
	}
	encoded, err := exactjson.Marshal(decode(typed))
	in.asked = typed.asked
	if err := cmp.Or(in.Err, typed.Err, err, UnknownMember(in)); err != nil {
		return nil, err
	}
	var understood map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &understood); err != nil {
		return nil, err
	}
	for _, m := range typed.members {
		if value, ok := understood[string(m.Name)]; ok && value[0] != '{' {
			patch[string(m.Name)] = value
		}
	}
	return exactjson.Marshal(patch)
}

// UnknownMember returns the refusal of an object with a member that nothing asked for, or nil.
func UnknownMember(o *Object) error {
	if unknown := o.Unknown(); len(unknown) > 0 {
		return fault.Newf(fault.Invalid, "Invalid body: %s is unknown", CutName(unknown[0]))
	}
	return nil
}

// CutName returns as much of the name of a member as answers and logs have, before it is escaped.
func CutName(name string) string {
	if len(name) <= contract.MaxMemberName {
		return name
	}
	end := contract.MaxMemberName
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}

// DecodeConfig reads a configuration (section 2.4): what was left out of the
// limits is 1.
func DecodeConfig(in *Object) voting.Config {
	config := voting.Config{
		UserIDVoting:           in.Boolean("userIDVoting"),
		DistinctOptionsPerUser: in.Integer("distinctOptionsPerUser", 1),
		TotalVotesPerUser:      in.Integer("totalVotesPerUser", 1),
		VotesPerOption:         in.Integer("votesPerOption", 1),
		Global:                 in.Boolean("global"),
		Disabled:               in.Boolean("disabled"),
		Prompt:                 in.Text("prompt"),
		Options:                in.Texts("options"),
		UserData:               in.JSON("userData"),
		Schedule:               DecodeSchedule(in),
		ResultsVisibility:      voting.Visibility(in.Text("resultsVisibility")),
		ShowCount:              in.Boolean("showCount"),
		LoggedInOnly:           in.Boolean("loggedInOnly"),
		Strict:                 in.Boolean("strict"),
		TieBreak:               in.OptionalInteger("tieBreak"),
		Pictures:               in.Texts("pictures"),
	}
	in.Fill(&config.PollSettings)
	return config
}

// DecodeSchedule reads the times of a poll or a question.
func DecodeSchedule(in *Object) contract.Schedule {
	return contract.Schedule{StartsAt: in.Integer("startsAt", 0), EndsAt: in.Integer("endsAt", 0)}
}
