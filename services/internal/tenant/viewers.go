package tenant

import (
	"fmt"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// ViewerIssuer is an OpenID Connect issuer whose tokens make people viewers of some channels.
type ViewerIssuer struct {
	Issuer string `json:"issuer"`
	// Audience names the client that its tokens are for.
	Audience string   `json:"audience"`
	Channels []string `json:"channels"`
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
