package httpapi

import (
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// The header with the key of a request, and the one that marks the answer to a repetition.
const (
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotency-Replayed"
)

// requestKeys returns the key of a request, or nothing where it has none (section 1.4). It
// belongs to the caller, the route, and the id that the request names.
func (a *API) requestKeys(r *apiRequest, id string) ([]*once.Key, error) {
	sent := r.Header[keyHeader]
	if len(sent) == 0 {
		return nil, nil
	}
	if len(sent) > 1 || !isKey(sent[0]) {
		return nil, fault.Newf(fault.Invalid, "Idempotency-Key must have 1 to %d printable bytes", once.MaxKey)
	}
	return []*once.Key{a.keyScope(r, id).NewKey(sent[0], r.body)}, nil
}

// isKey reports whether text may be the key of a request.
func isKey(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return text != "" && len(text) <= once.MaxKey
}

// keyScope returns the scope of the caller's keys for a route and an id. The secrets with
// which the extension signs tokens key it: no store has them.
func (a *API) keyScope(r *apiRequest, id string) *once.Scope {
	c, now := r.caller, a.config.Now()
	var secrets [][]byte
	for _, secret := range c.Extension.ActiveSecrets(c.Environment, now) {
		secrets = append(secrets, secret.Value)
	}
	return once.NewScope(secrets, now, string(c.Environment), c.Extension.ClientID, r.Method, r.x.route, c.ChannelID, id, string(c.Role), c.identity())
}

// markReplayed marks the answer to a request that repeats another one.
func markReplayed(w http.ResponseWriter, keys []*once.Key) {
	for _, key := range keys {
		if key.Replayed {
			w.Header().Set(replayedHeader, "true")
		}
	}
}

// writeDoneOnce is writeDone for a request that may have a key.
func writeDoneOnce(w http.ResponseWriter, keys []*once.Key, err error) error {
	if err == nil {
		markReplayed(w, keys)
	}
	return writeDone(w, err)
}
