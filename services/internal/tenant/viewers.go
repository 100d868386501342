package tenant

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// SignInOfViewers returns the first issuer at which the viewers of a channel can sign in.
func (e *Extension) SignInOfViewers(channel string) (issuer contract.RegisteredViewerIssuer, ok bool) {
	for _, v := range e.ViewerIssuers {
		if v.RedirectURL != "" && slices.Contains(v.Channels, channel) {
			return v, true
		}
	}
	return issuer, false
}

// ViewerIssuerURLs returns the issuers of viewers of all extensions.
func (r *Registry) ViewerIssuerURLs() (issuers []string) {
	for e := range r.Extensions() {
		for _, v := range e.ViewerIssuers {
			issuers = append(issuers, string(v.Issuer))
		}
	}
	return issuers
}

// checkViewerIssuers gives the issuers of an extension the names that they lack, and reports what is wrong
// with them. The ids of channels stand in a header, between slashes.
func checkViewerIssuers(issuers []contract.RegisteredViewerIssuer, report reportFunc) {
	if len(issuers) > contract.MaxViewerIssuers {
		report("viewerIssuers", "has %d issuers, should have %d at most", len(issuers), contract.MaxViewerIssuers)
	}
	for i, v := range issuers {
		report := report.at(fmt.Sprintf("viewerIssuers[%d]", i))
		issuers[i].Name = cmp.Or(v.Name, checkAddress("issuer", v.Issuer, report))
		if v.RedirectURL != "" {
			checkAddress("redirectURL", v.RedirectURL, report)
		}
		if v.RedirectURL == "" && v.ClientSecret != "" {
			report("clientSecret", "needs redirectURL")
		}
		if v.Audience == "" {
			report("audience", "is empty")
		}
		if len(v.Channels) == 0 {
			report("channels", "is empty")
		}
		for n, channel := range v.Channels {
			if err := CheckID(channel); err != nil {
				report(fmt.Sprintf("channels[%d]", n), "%v", err)
			}
		}
	}
}
