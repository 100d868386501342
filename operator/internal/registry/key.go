package registry

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// usableKey is a key that was found and decoded.
type usableKey struct {
	value      []byte
	activeFrom time.Time // zero: always
	field      string    // of the spec that declares it
}

// SecretNames returns the names of the Secrets that hold an Extension's keys,
// those of its sinks and the secrets of its clients at issuers, sorted.
func SecretNames(e *v1alpha1.Extension) []string {
	keys := environmentKeys(&e.Spec.Environment)
	if e.Spec.Sandbox != nil {
		keys = slices.Concat(keys, environmentKeys(e.Spec.Sandbox))
	}
	if s := e.Spec.SignIn; s != nil && s.ClientSecretRef != nil {
		keys = slices.Concat(keys, []v1alpha1.Key{{SecretRef: *s.ClientSecretRef}})
	}
	for _, v := range e.Spec.ViewerIssuers {
		if v.ClientSecretRef != nil {
			keys = slices.Concat(keys, []v1alpha1.Key{{SecretRef: *v.ClientSecretRef}})
		}
	}
	return secretNames(keys)
}

// environmentKeys returns the keys of one environment, those of its sinks included.
func environmentKeys(e *v1alpha1.Environment) []v1alpha1.Key {
	keys := e.Keys
	for _, s := range e.Sinks {
		if s.Webhook != nil {
			keys = slices.Concat(keys, s.Webhook.Keys)
		}
	}
	return keys
}

func secretNames(keys []v1alpha1.Key) []string {
	var names []string
	for _, k := range keys {
		names = append(names, k.SecretRef.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// SigningKeys are the keys of an Extension for one environment that are active,
// oldest first. The oldest is the one that every pod of a service knows while
// keys are rotated.
type SigningKeys struct{ declared []v1alpha1.Key }

// ActiveKeys returns the keys that are active at a time.
func ActiveKeys(e *v1alpha1.Extension, environment Environment, now time.Time) SigningKeys {
	declared := e.Spec.Keys
	if environment == Sandbox {
		declared = nil
		if e.Spec.Sandbox != nil {
			declared = e.Spec.Sandbox.Keys
		}
	}
	active := slices.DeleteFunc(slices.Clone(declared), func(k v1alpha1.Key) bool { return activationTime(k).After(now) })
	slices.SortStableFunc(active, func(a, b v1alpha1.Key) int { return activationTime(a).Compare(activationTime(b)) })
	return SigningKeys{active}
}

// SecretNames returns the names of the Secrets that hold the keys.
func (k SigningKeys) SecretNames() []string { return secretNames(k.declared) }

// Decode returns the keys that can be used.
func (k SigningKeys) Decode(secrets SecretContents) [][]byte {
	var values [][]byte
	for _, d := range k.declared {
		if key, wrong := decodeKey(d, secrets); wrong == nil {
			values = append(values, key.value)
		}
	}
	return values
}

// activationTime returns when a key becomes active, zero for always.
func activationTime(k v1alpha1.Key) (from time.Time) {
	if k.ActiveFrom != nil {
		from = k.ActiveFrom.Time
	}
	return from
}

// decodeKeys returns the keys that can be used and notes what is wrong with the others.
func (c fileCandidate) decodeKeys(field string, declared []v1alpha1.Key, secrets SecretContents) []usableKey {
	var keys []usableKey
	for i, d := range declared {
		k, wrong := decodeKey(d, secrets)
		k.field = fmt.Sprintf("%s[%d]", field, i)
		if wrong != nil {
			wrong.Message = k.field + ": " + wrong.Message
			c.finding.Keys = append(c.finding.Keys, *wrong)
			continue
		}
		keys = append(keys, k)
	}
	return keys
}

// decodeSinks returns the sinks of an environment without those that have no
// usable key, or whose receiver could act as a backend.
func (c fileCandidate) decodeSinks(field string, declared []v1alpha1.Sink, secrets SecretContents) []sinkEntry {
	var sinks []sinkEntry
	for i, d := range declared {
		s := sinkEntry{Name: d.Name, PubSub: d.PubSub}
		if d.PubSub != nil && d.PubSub.URL != "" && c.Spec.ExternalRole != "" {
			c.finding.Keys = append(c.finding.Keys, *keyProblem(v1alpha1.ReasonUnsafeSink,
				"%s[%d].pubsub.url: its receiver would get tokens with the role %q, as externalRole has it", field, i, c.Spec.ExternalRole))
			continue
		}
		if d.Webhook != nil {
			keys := c.decodeKeys(fmt.Sprintf("%s[%d].webhook.keys", field, i), d.Webhook.Keys, secrets)
			if len(keys) == 0 {
				continue
			}
			s.Webhook = &webhookEntry{URL: d.Webhook.URL, Secrets: encodeKeys(keys)}
		}
		sinks = append(sinks, s)
	}
	return sinks
}

// decodeSignIn returns the sign-in of staff, nil without one or without its secret.
func (c fileCandidate) decodeSignIn(s *v1alpha1.SignIn, secrets SecretContents) *contract.RegisteredSignIn {
	if s == nil {
		return nil
	}
	secret, ok := c.decodeClientSecret("signIn", s.ClientSecretRef, secrets)
	if !ok {
		return nil
	}
	return &contract.RegisteredSignIn{SignIn: s.SignIn, ClientSecret: secret}
}

// decodeViewerIssuers returns the issuers of viewers. One without its secret has no sign-in; its tokens are
// checked with the issuer's public keys.
func (c fileCandidate) decodeViewerIssuers(declared []v1alpha1.ViewerIssuer, secrets SecretContents) []contract.RegisteredViewerIssuer {
	var entries []contract.RegisteredViewerIssuer
	for i, v := range declared {
		secret, ok := c.decodeClientSecret(fmt.Sprintf("viewerIssuers[%d]", i), v.ClientSecretRef, secrets)
		if !ok {
			v.RedirectURL, secret = "", ""
		}
		entries = append(entries, contract.RegisteredViewerIssuer{ViewerIssuer: v.ViewerIssuer, ClientSecret: secret})
	}
	return entries
}

// decodeClientSecret returns the secret of a client at an issuer, empty without a reference, and notes what is
// wrong with it. The field has the reference.
func (c fileCandidate) decodeClientSecret(field string, ref *v1alpha1.SecretKeyReference, secrets SecretContents) (secret string, ok bool) {
	if ref == nil {
		return "", true
	}
	text, wrong := findEntry(*ref, secrets)
	secret = strings.TrimSpace(string(text))
	if wrong == nil && (secret == "" || len(text) > contract.MaxKeyBytes || !utf8.Valid(text)) {
		wrong = keyProblem(v1alpha1.ReasonInvalidKey, "the entry %q of Secret %q is not a text of 1 to %d bytes", ref.Key, ref.Name, contract.MaxKeyBytes)
	}
	if wrong != nil {
		wrong.Message = field + ".clientSecretRef: " + wrong.Message
		c.finding.Keys = append(c.finding.Keys, *wrong)
	}
	return secret, wrong == nil
}

// findEntry returns the entry of a Secret.
func findEntry(ref v1alpha1.SecretKeyReference, secrets SecretContents) ([]byte, *status.Problem) {
	secret, found := secrets[ref.Name]
	if !found {
		return nil, keyProblem(v1alpha1.ReasonSecretNotFound, "Secret %q does not exist or may not be read", ref.Name)
	}
	entry, found := secret[ref.Key]
	if !found {
		return nil, keyProblem(v1alpha1.ReasonKeyNotFound, "Secret %q has no entry %q", ref.Name, ref.Key)
	}
	return entry, nil
}

// decodeKey finds and decodes the one declared key. The problem does not repeat
// the content of a Secret.
func decodeKey(declared v1alpha1.Key, secrets SecretContents) (usableKey, *status.Problem) {
	ref := declared.SecretRef
	entry, wrong := findEntry(ref, secrets)
	if wrong != nil {
		return usableKey{}, wrong
	}
	value, err := decodeEntry(entry)
	reason := v1alpha1.ReasonInvalidKey
	switch {
	case err != nil:
	case len(value) < contract.MinKeyBytes:
		reason, err = v1alpha1.ReasonWeakKey, fmt.Errorf("has less than %d bytes", contract.MinKeyBytes)
	case bytes.HasPrefix(value, []byte(contract.SampleKeyPrefix)):
		reason, err = v1alpha1.ReasonPublicKey, errors.New("is a published sample, with which anyone can sign tokens")
	}
	if err != nil {
		return usableKey{}, keyProblem(reason, "the entry %q of Secret %q %v", ref.Key, ref.Name, err)
	}
	return usableKey{value: value, activeFrom: activationTime(declared)}, nil
}

// decodeEntry returns the key that an entry of a Secret holds. The error does not
// repeat the entry.
func decodeEntry(entry []byte) ([]byte, error) {
	value, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(string(entry), "whsec_"))
	switch {
	case err != nil:
		return nil, errors.New("is not base64")
	case len(value) == 0:
		return nil, errors.New("is empty")
	case len(value) > contract.MaxKeyBytes:
		return nil, fmt.Errorf("is longer than %d bytes", contract.MaxKeyBytes)
	}
	return value, nil
}

func keyProblem(reason, format string, args ...any) *status.Problem {
	return status.NewProblem(v1alpha1.KeysUsable, reason, format, args...)
}
