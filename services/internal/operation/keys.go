package operation

import (
	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// requestKeys returns the key of a request, or nothing where it has none (section 1.4). It
// belongs to the caller, the route, and the id that the request names.
func (s *Service) requestKeys(r *Call, id string) ([]*once.Key, error) {
	sent := r.SentKeys
	if len(sent) == 0 {
		return nil, nil
	}
	if len(sent) > 1 || !IsKey(sent[0]) {
		return nil, fault.Newf(fault.Invalid, "Idempotency-Key must have 1 to %d printable bytes", contract.MaxKey)
	}
	r.keys = []*once.Key{s.KeyScope(r, id).NewKey(sent[0], r.Sent)}
	return r.keys, nil
}

// IsKey reports whether text may be the key of a request.
func IsKey(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return text != "" && len(text) <= contract.MaxKey
}

// KeyScope returns the scope of the caller's keys for a route and an id. The secrets with
// which the extension signs tokens key it: no store has them.
func (s *Service) KeyScope(r *Call, id string) *once.Scope {
	c, now := r.Caller, s.Config.Now()
	var secrets [][]byte
	for _, secret := range c.Extension.ActiveSecrets(c.Environment, now) {
		secrets = append(secrets, secret.Value)
	}
	return once.NewScope(secrets, now, string(c.Environment), c.Extension.ClientID, r.Verb, r.Path, c.ChannelID, id, string(c.Role), c.identity())
}

// patchKeys is requestKeys for an operation that takes no key where it replaces.
func (s *Service) patchKeys(r *Call, id string) ([]*once.Key, error) {
	if r.Verb != "PATCH" {
		return nil, nil
	}
	return s.requestKeys(r, id)
}
