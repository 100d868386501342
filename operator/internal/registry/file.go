package registry

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// entry is an extension in the file. What stands at its top level is for
// production.
type entry struct {
	ClientID     v1alpha1.ID   `json:"clientID"`
	AppIDs       []v1alpha1.ID `json:"appIDs,omitempty"`
	OwnerUserID  string        `json:"ownerUserID,omitempty"`
	AdminUserIDs []string      `json:"adminUserIDs,omitempty"`
	ExternalRole string        `json:"externalRole,omitempty"`
	block        `json:",inline"`
	Sandbox      *block `json:"sandbox,omitempty"`
}

// block is what an extension has for one environment.
type block struct {
	AllowedOrigins []v1alpha1.Origin   `json:"allowedOrigins,omitempty"`
	Limits         *v1alpha1.Limits    `json:"limits,omitempty"`
	Retention      *v1alpha1.Retention `json:"retention,omitempty"`
	Secrets        []secret            `json:"secrets,omitempty"`
	Sinks          []sink              `json:"sinks,omitempty"`
}

// sink is another system that is told of events.
type sink struct {
	Name    string           `json:"name"`
	Webhook *webhook         `json:"webhook,omitempty"`
	PubSub  *v1alpha1.PubSub `json:"pubsub,omitempty"`
}

type webhook struct {
	URL     v1alpha1.SinkURL `json:"url"`
	Secrets []secret         `json:"secrets"`
}

type secret struct {
	Value      string `json:"value"`
	ActiveFrom string `json:"activeFrom,omitempty"`
}

// write returns the file of an environment. It has no keys of the other one, and
// no extension without a key. Where there is not room for all, older Extensions
// go first; one that does not fit makes way for smaller ones after it.
func write(candidates []candidate, of Environment) []byte {
	type written struct {
		clientID string
		text     []byte
	}
	const heading = "extensions:\n"
	var entries []written
	size := len(heading)
	for _, c := range candidates {
		if len(c.keys[of]) == 0 {
			continue
		}
		text := marshal(c.entry(of))
		if size+len(text) > MaxBytes {
			c.finding.Full[of] = true
			continue
		}
		size += len(text)
		entries = append(entries, written{string(c.Spec.ClientID), text})
	}
	if len(entries) == 0 {
		return []byte("extensions: []\n")
	}
	slices.SortFunc(entries, func(a, b written) int { return strings.Compare(a.clientID, b.clientID) })
	file := bytes.NewBuffer(make([]byte, 0, size))
	file.WriteString(heading)
	for _, e := range entries {
		file.Write(e.text)
	}
	return file.Bytes()
}

func (c candidate) entry(of Environment) entry {
	e := entry{
		ClientID:     c.Spec.ClientID,
		AppIDs:       c.Spec.AppIDs,
		OwnerUserID:  c.Spec.OwnerUserID,
		AdminUserIDs: c.Spec.AdminUserIDs,
		ExternalRole: c.Spec.ExternalRole,
		block:        settings(&c.Spec.Environment),
	}
	if of == Production {
		e.Secrets, e.Sinks = encode(c.keys[of]), c.sinks[of]
		return e
	}
	sandbox := settings(c.Spec.Sandbox)
	sandbox.Secrets, sandbox.Sinks = encode(c.keys[of]), c.sinks[of]
	e.Sandbox = &sandbox
	return e
}

// settings are what a file says of an environment besides its keys and what needs
// keys.
func settings(e *v1alpha1.Environment) block {
	return block{AllowedOrigins: e.AllowedOrigins, Limits: e.Limits, Retention: e.Retention}
}

func encode(keys []key) []secret {
	secrets := make([]secret, 0, len(keys))
	for _, k := range keys {
		s := secret{Value: base64.StdEncoding.EncodeToString(k.value)}
		if !k.activeFrom.IsZero() {
			s.ActiveFrom = k.activeFrom.UTC().Format(time.RFC3339)
		}
		secrets = append(secrets, s)
	}
	return secrets
}

// marshal returns an entry as an element of a list in YAML.
func marshal(e entry) []byte {
	text, err := yaml.Marshal([]entry{e})
	if err != nil {
		panic(err) // strings, integers and durations
	}
	return text
}
