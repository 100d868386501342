package tenant

import (
	"fmt"
	"slices"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// ViewerIssuer is an OpenID Connect issuer whose tokens make people viewers of some channels.
type ViewerIssuer struct {
	Issuer string `json:"issuer"`
	// Audience names the client that its tokens are for.
	Audience string   `json:"audience"`
	Channels []string `json:"channels"`

	// RedirectURL is the public address of GET /viewer/callback, empty where the page for viewers has no
	// sign-in. The audience is then the client that asks the issuer.
	RedirectURL string `json:"redirectURL"`
	// ClientSecret is empty for a public client.
	ClientSecret string `json:"clientSecret"`
	// Name tells people which issuer it is.
	Name string `json:"name"`
}

// SignInName returns the name of the issuer for people.
func (v ViewerIssuer) SignInName() string {
	if at, ok := parseAddress(v.Issuer); ok && v.Name == "" {
		return at.Host
	}
	return v.Name
}

// SignInOfViewers returns the first issuer at which the viewers of a channel can sign in.
func (e *Extension) SignInOfViewers(channel string) (issuer ViewerIssuer, ok bool) {
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
			issuers = append(issuers, v.Issuer)
		}
	}
	return issuers
}

// checkViewerIssuers reports what is wrong with the issuers of an extension. The ids of channels stand
// in a header, between slashes.
func checkViewerIssuers(issuers []ViewerIssuer, report reportFunc) {
	if len(issuers) > contract.MaxViewerIssuers {
		report("viewerIssuers", "has %d issuers, should have %d at most", len(issuers), contract.MaxViewerIssuers)
	}
	for i, v := range issuers {
		report := report.at(fmt.Sprintf("viewerIssuers[%d]", i))
		if _, ok := parseAddress(v.Issuer); !ok {
			report("issuer", "is %q, should be an address", v.Issuer)
		}
		if _, ok := parseAddress(v.RedirectURL); v.RedirectURL != "" && !ok {
			report("redirectURL", "is %q, should be an address", v.RedirectURL)
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
