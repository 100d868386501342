package httpapi

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

// The cookies of a viewer's sign-in under way, and of the issuer's token afterwards, which no script reads.
const (
	viewerFlowCookie = "__Host-acclaim-viewer-signin"
	viewerCookie     = "__Host-acclaim-viewer"
)

// pollPage returns the address of the page for viewers of a poll, which says what became of a sign-in.
func pollPage(name contract.PublicName, outcome string) string {
	path := "/vote/" + url.PathEscape(name.Client) + "/" + url.PathEscape(name.Channel) + "/" + url.PathEscape(name.Poll)
	return path + "#" + outcome
}

// completeViewer adds the token in the cookie to a credential that lacks it, in a request that a page of this
// origin sends. The credential of the page says that it means a viewer, and names the channel. A
// browser that is also signed in as staff sends both cookies.
func completeViewer(r *http.Request, credential string) string {
	if !operation.LacksViewerToken(credential) || r.Header.Get("Sec-Fetch-Site") != "same-origin" {
		return credential
	}
	cookie, err := r.Cookie(viewerCookie)
	if err != nil {
		return credential
	}
	return credential + cookie.Value
}

// showViewerRefusals returns a handler whose refusals the page of the poll explains to a person that a
// browser brings there.
func showViewerRefusals(handle routeHandler) routeHandler {
	return func(a *API, w http.ResponseWriter, r *apiRequest) error {
		err := handle(a, w, r)
		name, known := nameOf(r)
		if !known {
			name, _, known = flowOf(r.Request, viewerFlowCookie)
		}
		if err == nil || !known || r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			return err
		}
		r.x.Err = err // for the log
		redirect(w, pollPage(name, "sign-in-refused-"+strconv.Itoa(operation.OutcomeOf(err).Status)))
		return nil
	}
}

// nameOf returns the poll that the query of a request names.
func nameOf(r *apiRequest) (name contract.PublicName, ok bool) {
	name.Client, _ = r.queryParameter("extension")
	name.Channel, _ = r.queryParameter("channel")
	name.Poll, _ = r.queryParameter("poll")
	return name, name.Client != "" && name.Channel != "" && name.Poll != ""
}

func (a *API) getViewerSignIns(w http.ResponseWriter, r *apiRequest) error {
	extension, _ := r.queryParameter("extension")
	channel, _ := r.queryParameter("channel")
	return writeValue(w, map[string][]operation.OfferedSignIn{"signIns": a.ListViewerSignIns(extension, channel)})
}

func (a *API) getViewerSignIn(w http.ResponseWriter, r *apiRequest) error {
	name, _ := nameOf(r)
	address, flow, err := a.BeginViewerSignIn(r.Context(), &r.Call, name)
	if err != nil {
		return err
	}
	keepFlow(w, viewerFlowCookie, name, flow)
	redirect(w, address)
	return nil
}

func (a *API) getViewerCallback(w http.ResponseWriter, r *apiRequest) error {
	name, flow, ok := flowOf(r.Request, viewerFlowCookie)
	if !ok {
		return fault.New(fault.Invalid, "No sign-in is under way in this browser")
	}
	clearCookie(w, viewerFlowCookie)
	state, _ := r.queryParameter("state")
	code, _ := r.queryParameter("code")
	token, left, err := a.FinishViewerSignIn(r.Context(), &r.Call, name, flow, state, code)
	if err != nil {
		return err
	}
	setCookie(w, viewerCookie, token, left, http.SameSiteStrictMode)
	redirect(w, pollPage(name, "signed-in"))
	return nil
}

func (a *API) deleteViewer(w http.ResponseWriter, r *apiRequest) error {
	if http.NewCrossOriginProtection().Check(r.Request) != nil {
		return fault.New(fault.Forbidden, "A page of another server may not sign a viewer out")
	}
	clearCookie(w, viewerCookie)
	return writeDone(w, nil)
}
