package sandbox

import (
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Request is the body of the authtoken route (section 4.6). Empty strings are
// fields that were left out.
type Request struct {
	ExtensionID, AppID, ChannelID, UserID, Role string
	UserIDs                                     []string
}

// Service issues test tokens for the registered extensions.
type Service struct {
	registry func() *tenant.Registry
	now      func() time.Time
}

// NewService returns a service that reads the current registry for each request.
func NewService(registry func() *tenant.Registry, now func() time.Time) *Service {
	return &Service{registry: registry, now: now}
}

// Tokens returns a token for each identity that the request asks for: one without
// any is anonymous. An invalid request is fault.Invalid.
func (s *Service) Tokens(r Request) ([]string, error) {
	extension, err := r.extension(s.registry())
	if err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	secret, ok := extension.SigningSecret(tenant.Sandbox, s.now())
	if !ok {
		return nil, fault.New(fault.Invalid, "The extension has no active sandbox secret")
	}
	var tokens []string
	for _, grant := range r.grants(extension.ClientID) {
		token, err := IssueToken(grant, secret.Value, s.now())
		if err != nil {
			return nil, fault.Wrap(fault.Internal, err, "signing failed")
		}
		tokens = append(tokens, token)
	}
	return tokens, nil
}

// extension resolves the extension that the request names. Clients put client
// ids into app_id, so that is looked up as both.
func (r Request) extension(registry *tenant.Registry) (*tenant.Extension, error) {
	var named []*tenant.Extension
	if r.ExtensionID != "" {
		extension, _ := registry.ByClientID(r.ExtensionID)
		named = append(named, extension)
	}
	if r.AppID != "" {
		extension, _ := registry.Resolve(r.AppID)
		named = append(named, extension)
	}
	switch {
	case len(named) == 0:
		return nil, fault.New(fault.Invalid, "extension_id or app_id is required")
	case slices.Contains(named, nil):
		return nil, fault.New(fault.Invalid, "No such extension found")
	case named[0] != named[len(named)-1]:
		return nil, fault.New(fault.Invalid, "extension_id and app_id are of different extensions")
	}
	return named[0], nil
}

// check refuses a request with missing fields or over its limits. The route needs no credential,
// so without them a small request could produce an answer of any size.
func (r Request) check() error {
	if r.ChannelID == "" || r.Role == "" {
		return fault.New(fault.Invalid, "channel_id and role are required")
	}
	if len(r.UserIDs) > contract.MaxSandboxTokens {
		return fault.New(fault.Invalid, "Too many user_ids specified")
	}
	for _, name := range append([]string{r.ChannelID, r.Role, r.UserID}, r.UserIDs...) {
		if len(name) > contract.MaxID {
			return fault.Newf(fault.Invalid, "An id or the role is longer than %d bytes", contract.MaxID)
		}
	}
	return nil
}

// grants returns the tokens to issue, in order, each identity once.
func (r Request) grants(clientID string) []Grant {
	grant := Grant{
		ExtensionID: clientID,
		ChannelID:   r.ChannelID,
		Role:        r.Role,
		Stage:       string(tenant.Sandbox),
	}
	if r.Role == "broadcaster" {
		r.UserID = r.ChannelID
	}
	var grants []Grant
	seen := map[string]bool{"": true}
	for _, id := range append([]string{r.UserID}, r.UserIDs...) {
		if seen[id] {
			continue
		}
		seen[id] = true
		grant.UserID, grant.OpaqueID = id, UserOpaqueID(id)
		grants = append(grants, grant)
	}
	if len(grants) == 0 {
		grant.OpaqueID = NewAnonymousID()
		grants = append(grants, grant)
	}
	return grants
}
