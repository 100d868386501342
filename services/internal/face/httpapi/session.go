package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"time"

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

// staffPage takes over after a sign-in, and refusedPage where one is refused, with the status.
const (
	staffPage   = "/live/staff.html#signed-in"
	refusedPage = "/live/staff.html#sign-in-refused-"
)

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
		redirect(w, refusedPage+strconv.Itoa(operation.OutcomeOf(err).Status))
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
	// The issuer's page sends the browser back, so that the cookie has to come along from there.
	setCookie(w, flowCookie, strings.Join([]string{extension, flow.State, flow.Nonce, flow.Verifier}, ":"), flowLifetime, http.SameSiteLaxMode)
	redirect(w, address)
	return nil
}

func (a *API) getStaffCallback(w http.ResponseWriter, r *apiRequest) error {
	cookie, err := r.Cookie(flowCookie)
	if err != nil {
		return fault.New(fault.Invalid, "No sign-in is under way in this browser")
	}
	kept := strings.Split(cookie.Value, ":")
	if len(kept) != 4 {
		return fault.New(fault.Invalid, "No sign-in is under way in this browser")
	}
	clearCookie(w, flowCookie)
	state, _ := r.queryParameter("state")
	code, _ := r.queryParameter("code")
	credential, err := a.FinishSignIn(r.Context(), &r.Call, kept[0], signin.Flow{State: kept[1], Nonce: kept[2], Verifier: kept[3]}, state, code)
	if err != nil {
		return err
	}
	setCookie(w, sessionCookie, strings.Replace(credential, " ", ":", 1), pairing.SessionLifetime, http.SameSiteStrictMode)
	redirect(w, staffPage)
	return nil
}

func (a *API) deleteStaff(w http.ResponseWriter, r *apiRequest) error {
	clearCookie(w, sessionCookie)
	return writeDone(w, a.EndSession(r.Context(), &r.Call))
}
