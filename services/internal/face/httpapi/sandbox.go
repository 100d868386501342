package httpapi

import (
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// Sandbox is the part of package sandbox that POST /authtoken uses.
type Sandbox interface {
	Tokens(r sandbox.Request) ([]string, error)
}

// sandboxRoutes returns the route of section 4.6.
func sandboxRoutes() []Route {
	return []Route{{Method: http.MethodPost, Path: "/authtoken", public: true, handle: (*API).postAuthToken}}
}

// The rates of sandbox tokens, which anyone may ask for: of one client address, where it
// is known, and in all. 1,000 tokens take some 9 ms of a processor.
func tokensOfAddress() tenant.Rate { return tenant.Rate{PerSecond: 50, Burst: 2_000} }
func tokensInAll() tenant.Rate     { return tenant.Rate{PerSecond: 2_000, Burst: 20_000} }

// admitTokens takes a number of tokens of the sandbox, or refuses with fault.RateLimited.
func (a *API) admitTokens(r *apiRequest, count int) error {
	now := a.config.Now()
	if client, ok := a.config.Proxies.clientOf(r.Request); ok {
		own := a.limiters.bucketNamed(tokenBucket{identity: ClientNetwork(client).String(), rate: tokensOfAddress()})
		if !own.AllowN(now, count) {
			return fault.New(fault.RateLimited, "Too many tokens for this address; nothing was stored")
		}
	}
	if !a.limiters.bucketNamed(tokenBucket{rate: tokensInAll()}).AllowN(now, count) {
		return fault.New(fault.RateLimited, "Too many requests; nothing was stored")
	}
	return nil
}

func (a *API) postAuthToken(w http.ResponseWriter, r *apiRequest) error {
	body := decodeObject(r.body)
	in := sandbox.Request{
		ExtensionID: body.text("extension_id"),
		AppID:       body.text("app_id"),
		ChannelID:   body.text("channel_id"),
		UserID:      body.text("user_id"),
		Role:        body.text("role"),
		UserIDs:     body.texts("user_ids"),
	}
	if body.err != nil {
		return body.err
	}
	if err := a.admitTokens(r, max(len(in.UserIDs), 1)); err != nil {
		return err
	}
	tokens, err := a.config.Sandbox.Tokens(in)
	if err != nil {
		return err
	}
	if len(in.UserIDs) > 0 {
		return writeValue(w, map[string][]string{"tokens": tokens})
	}
	return writeValue(w, map[string]string{"token": tokens[0]})
}
