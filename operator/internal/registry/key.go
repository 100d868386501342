package registry

import (
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// MaxKeyBytes is how long a decoded key may be, so that no Extension takes the
// room of the others.
const MaxKeyBytes = 4096

// key is one that can be used.
type key struct {
	value      []byte // decoded
	activeFrom time.Time
	field      string // where the spec names it
}

// DecodeKey returns the key that an entry of a Secret holds. Its error does not
// repeat what the entry holds.
func DecodeKey(entry []byte) ([]byte, error) {
	value, err := base64.StdEncoding.DecodeString(string(entry))
	switch {
	case err != nil:
		return nil, errors.New("is not base64")
	case len(value) == 0:
		return nil, errors.New("is empty")
	case len(value) > MaxKeyBytes:
		return nil, fmt.Errorf("is longer than %d bytes", MaxKeyBytes)
	}
	return value, nil
}

// decode returns the keys that can be used and notes what is wrong with the others.
func (c candidate) decode(field string, declared []v1alpha1.Key, secrets Secrets) []key {
	var keys []key
	for i, d := range declared {
		k, wrong := decode(d, secrets)
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

// decodeSinks returns the sinks of an environment, those without a usable key left
// out.
func (c candidate) decodeSinks(field string, declared []v1alpha1.Sink, secrets Secrets) []sink {
	var sinks []sink
	for i, d := range declared {
		s := sink{Name: d.Name, PubSub: d.PubSub}
		if d.Webhook != nil {
			keys := c.decode(fmt.Sprintf("%s[%d].webhook.keys", field, i), d.Webhook.Keys, secrets)
			if len(keys) == 0 {
				continue
			}
			s.Webhook = &webhook{URL: d.Webhook.URL, Secrets: encode(keys)}
		}
		sinks = append(sinks, s)
	}
	return sinks
}

func decode(declared v1alpha1.Key, secrets Secrets) (k key, wrong *Problem) {
	ref := declared.SecretRef
	secret, found := secrets[ref.Name]
	if !found {
		return k, problem(v1alpha1.ReasonSecretNotFound, "Secret %q does not exist or may not be read", ref.Name)
	}
	entry, found := secret[ref.Key]
	if !found {
		return k, problem(v1alpha1.ReasonKeyNotFound, "Secret %q has no entry %q", ref.Name, ref.Key)
	}
	value, err := DecodeKey(entry)
	if err != nil {
		return k, problem(v1alpha1.ReasonInvalidKey, "the entry %q of Secret %q %v", ref.Key, ref.Name, err)
	}
	k.value = value
	if declared.ActiveFrom != nil {
		k.activeFrom = declared.ActiveFrom.Time
	}
	return k, nil
}

func problem(reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}
