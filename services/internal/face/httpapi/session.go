package httpapi

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/signin"
	"github.com/acclaim-dev/acclaim/services/pairing"
)

// The cookies of a sign-in under way and of a session. Browsers take them from this host alone, over
// TLS or on loopback, and no script reads them.
const (
	flowCookie    = "__Host-acclaim-signin"
	sessionCookie = "__Host-acclaim-staff"
	flowLifetime  = 10 * time.Minute
)

// staffPage returns the address of the staff page after a sign-in. It names the extension, so that the
// page offers its sign-in again: on a server with several ones it offers none by itself.
func staffPage(extension, outcome string) string {
	page := url.URL{Path: "/live/staff.html", Fragment: outcome}
	if extension != "" {
		page.RawQuery = url.Values{"extension": {extension}}.Encode()
	}
	return page.String()
}

// sessionOf returns the credential in the cookie of a request that a page of this origin sends, "" for
// every other request: a browser adds the cookie to requests of other pages, too, and says whose
// they are.
func sessionOf(r *http.Request) string {
	if r.Header.Get("Sec-Fetch-Site") != "same-origin" {
		return ""
	}
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return ""
	}
	client, token, _ := strings.Cut(cookie.Value, ":")
	return client + " " + token
}

func setCookie(w http.ResponseWriter, name, value string, lifetime time.Duration, site http.SameSite) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(lifetime / time.Second), Secure: true, HttpOnly: true, SameSite: site,
	})
}

func clearCookie(w http.ResponseWriter, name string) {
	setCookie(w, name, "", -time.Second, http.SameSiteStrictMode)
}

func redirect(w http.ResponseWriter, address string) {
	w.Header().Set("Location", address)
	writeJSON(w, http.StatusSeeOther, []byte("{}"))
}

// showRefusals returns a handler whose refusals the staff page explains to a person that a browser brings
// there. Any other client gets the refusal itself.
func showRefusals(handle routeHandler) routeHandler {
	return func(a *API, w http.ResponseWriter, r *apiRequest) error {
		err := handle(a, w, r)
		if err == nil || r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			return err
		}
		r.x.Err = err // for the log
		extension, named := r.queryParameter("extension")
		if !named {
			name, _, _ := flowOf(r.Request, flowCookie)
			extension = name.Client
		}
		redirect(w, staffPage(extension, "sign-in-refused-"+strconv.Itoa(operation.OutcomeOf(err).Status)))
		return nil
	}
}

func (a *API) getStaffSignIns(w http.ResponseWriter, r *apiRequest) error {
	extension, _ := r.queryParameter("extension")
	return writeValue(w, map[string][]operation.OfferedSignIn{"signIns": a.ListSignIns(extension)})
}

func (a *API) getStaffSignIn(w http.ResponseWriter, r *apiRequest) error {
	extension, _ := r.queryParameter("extension")
	address, flow, err := a.BeginSignIn(r.Context(), &r.Call, extension)
	if err != nil {
		return err
	}
	keepFlow(w, flowCookie, contract.PublicName{Client: extension}, flow)
	redirect(w, address)
	return nil
}

// keepFlow has a browser keep a sign-in that is under way, and what it is for. The issuer's page sends the
// browser back, so that the cookie has to come along from there.
func keepFlow(w http.ResponseWriter, cookie string, name contract.PublicName, flow signin.Flow) {
	kept := url.Values{
		"extension": {name.Client}, "channel": {name.Channel}, "poll": {name.Poll},
		"state": {flow.State}, "nonce": {flow.Nonce}, "verifier": {flow.Verifier},
	}
	setCookie(w, cookie, kept.Encode(), flowLifetime, http.SameSiteLaxMode)
}

// flowOf returns the sign-in that is under way in a browser, and what it is for.
func flowOf(r *http.Request, cookie string) (name contract.PublicName, flow signin.Flow, ok bool) {
	found, err := r.Cookie(cookie)
	if err != nil {
		return name, flow, false
	}
	kept, err := url.ParseQuery(found.Value)
	name = contract.PublicName{Client: kept.Get("extension"), Channel: kept.Get("channel"), Poll: kept.Get("poll")}
	flow = signin.Flow{State: kept.Get("state"), Nonce: kept.Get("nonce"), Verifier: kept.Get("verifier")}
	return name, flow, err == nil && name.Client != ""
}

func (a *API) getStaffCallback(w http.ResponseWriter, r *apiRequest) error {
	name, flow, ok := flowOf(r.Request, flowCookie)
	if !ok {
		return fault.New(fault.Invalid, "No sign-in is under way in this browser")
	}
	clearCookie(w, flowCookie)
	state, _ := r.queryParameter("state")
	code, _ := r.queryParameter("code")
	credential, err := a.FinishSignIn(r.Context(), &r.Call, name.Client, flow, state, code)
	if err != nil {
		return err
	}
	setCookie(w, sessionCookie, strings.Replace(credential, " ", ":", 1), pairing.SessionLifetime, http.SameSiteStrictMode)
	redirect(w, staffPage(name.Client, "signed-in"))
	return nil
}

func (a *API) deleteStaff(w http.ResponseWriter, r *apiRequest) error {
	clearCookie(w, sessionCookie)
	return writeDone(w, a.EndSession(r.Context(), &r.Call))
}

func (a *API) postDeviceSignIn(w http.ResponseWriter, r *apiRequest) error {
	body := operation.DecodeObject(r.Sent)
	extension := body.Text("extension")
	if body.Err != nil {
		return body.Err
	}
	begun, err := a.BeginDeviceSignIn(r.Context(), &r.Call, extension)
	if err != nil {
		return err
	}
	return writeValue(w, begun)
}

func (a *API) postDeviceSession(w http.ResponseWriter, r *apiRequest) error {
	body := operation.DecodeObject(r.Sent)
	extension, deviceCode := body.Text("extension"), body.Text("deviceCode")
	if body.Err != nil {
		return body.Err
	}
	credential, err := a.FinishDeviceSignIn(r.Context(), &r.Call, extension, deviceCode)
	if err != nil {
		return err
	}
	return writeValue(w, map[string]string{"credential": credential})
}
