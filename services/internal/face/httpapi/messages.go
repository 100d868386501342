package httpapi

import (
	"net/http"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

func (a *API) postBroadcast(w http.ResponseWriter, r *apiRequest) error { return a.broadcast(w, r, "") }

// postPusherBroadcast is postBroadcast for clients that name an event as it arrives, with
// its environment and client id.
func (a *API) postPusherBroadcast(w http.ResponseWriter, r *apiRequest) error {
	return a.broadcast(w, r, string(r.Caller.Environment)+":"+r.Caller.Extension.ClientID+":")
}

// broadcast publishes a message, in whose name a prefix precedes that of the event, to the channel that
// its body or else the token names.
func (a *API) broadcast(w http.ResponseWriter, r *apiRequest, prefix string) error {
	body, m, err := operation.DecodeMessage(r.Sent)
	if err != nil {
		return err
	}
	name, ok := strings.CutPrefix(m.Name, prefix)
	if !ok {
		return fault.New(fault.Invalid, "event must begin with the environment and the client id")
	}
	m.Name = name
	channel := body.Text("user_id")
	if body.Err != nil {
		return body.Err
	}
	if len(channel) > contract.MaxID {
		return operation.NewInvalidMember("user_id is too long")
	}
	if err := r.Caller.CheckBroadcasts(channel); err != nil {
		return err
	}
	if m.To, err = targetOf(body); err != nil {
		return err
	}
	return writeDone(w, a.Broadcast(r.Context(), &r.Call, channel, m))
}

func (a *API) postExtensionBroadcast(w http.ResponseWriter, r *apiRequest) error {
	body, m, err := operation.DecodeMessage(r.Sent)
	if err != nil {
		return err
	}
	if m.To, err = targetOf(body); err != nil {
		return err
	}
	return writeDone(w, a.BroadcastToExtension(r.Context(), &r.Call, m))
}

func (a *API) postWhisperSelf(w http.ResponseWriter, r *apiRequest) error {
	if err := a.AdmitWhisper(&r.Call); err != nil {
		return err
	}
	_, m, err := operation.DecodeMessage(r.Sent)
	if err != nil {
		return err
	}
	return writeDone(w, a.Whisper(r.Context(), &r.Call, m))
}

// targetOf returns the opaque id or user id that the body addresses a message to, "" for
// all. A target that is neither is refused, never taken for a wider one.
func targetOf(o *operation.Object) (to string, err error) {
	if !o.Has("target") {
		return "", nil
	}
	target := o.Text("target")
	if o.Err != nil {
		return "", o.Err
	}
	to, whisper := strings.CutPrefix(target, contract.TargetWhisper)
	switch {
	case target == contract.TargetBroadcast:
		return "", nil
	case !whisper || to == "" || len(to) > contract.MaxID:
		return "", fault.New(fault.Invalid, "Invalid target")
	}
	return to, nil
}
