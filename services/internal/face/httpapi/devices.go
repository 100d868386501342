package httpapi

import (
	"crypto/rand"
	"net/http"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

// deviceCookie holds the secret of a device, from which its voter ids follow. No route takes it as
// a credential, so that another site gains nothing by having the browser send it.
const (
	deviceCookie    = "__Host-acclaim-device"
	deviceCookieAge = 180 * 24 * 60 * 60 // seconds
)

func (a *API) postDevice(w http.ResponseWriter, r *apiRequest) error {
	if http.NewCrossOriginProtection().Check(r.Request) != nil {
		return fault.New(fault.Forbidden, "A page of another server may not ask for the credential of a device")
	}
	body := operation.DecodeObject(r.Sent)
	name := contract.PublicName{Client: body.Text("client"), Channel: body.Text("channel"), Poll: body.Text("poll")}
	if body.Err != nil {
		return body.Err
	}
	device, known := deviceOf(r.Request)
	credential, err := a.OpenDevice(r.Context(), &r.Call, name, device)
	if err != nil {
		return err
	}
	if !known {
		http.SetCookie(w, &http.Cookie{
			Name: deviceCookie, Value: device, Path: "/", MaxAge: deviceCookieAge, Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		})
	}
	return writeValue(w, map[string]string{"credential": credential})
}

// deviceOf returns the secret in the cookie of a device, or a new one.
func deviceOf(r *http.Request) (device string, known bool) {
	fresh := rand.Text()
	if cookie, err := r.Cookie(deviceCookie); err == nil && len(cookie.Value) == len(fresh) {
		return cookie.Value, true
	}
	return fresh, false
}

// getDeviceVote answers a device with its poll beside the statistics, as it may ask for nothing
// else.
func (a *API) getDeviceVote(w http.ResponseWriter, r *apiRequest, id string, at int64) error {
	view, tally, err := a.ReadDeviceVote(r.Context(), &r.Call, id, at)
	if err != nil {
		return err
	}
	answer := append(append([]byte(`{"poll":`), view.JSON()...), ',')
	writeJSON(w, http.StatusOK, append(answer, tally.AppendJSON(make([]byte, 0, 512))[1:]...))
	return nil
}
