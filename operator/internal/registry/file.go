package registry

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// fileEntry is an extension in the file. Its top level is for production.
type fileEntry struct {
	ClientID            v1alpha1.ID                       `json:"clientID"`
	AppIDs              []v1alpha1.ID                     `json:"appIDs,omitempty"`
	OwnerUserID         string                            `json:"ownerUserID,omitempty"`
	AdminUserIDs        []string                          `json:"adminUserIDs,omitempty"`
	ExternalRole        string                            `json:"externalRole,omitempty"`
	Moderators          string                            `json:"moderators,omitempty"`
	SignIn              *contract.RegisteredSignIn        `json:"signIn,omitempty"`
	ViewerIssuers       []contract.RegisteredViewerIssuer `json:"viewerIssuers,omitempty"`
	GlobalPolls         string                            `json:"globalPolls,omitempty"`
	ViewersCreateGlobal *bool                             `json:"viewersCreateGlobal,omitempty"`
	environmentSettings `json:",inline"`
	Sandbox             *environmentSettings `json:"sandbox,omitempty"`

	declaredBy types.NamespacedName // the Extension; none in files of earlier versions
	withdrawn  bool                 // its keys are the operator's
}

// environmentSettings are the part of an extension that belongs to one environment.
type environmentSettings struct {
	AllowedOrigins []v1alpha1.Origin   `json:"allowedOrigins,omitempty"`
	Limits         *v1alpha1.Limits    `json:"limits,omitempty"`
	Retention      *v1alpha1.Retention `json:"retention,omitempty"`
	Secrets        []secretEntry       `json:"secrets,omitempty"`
	Sinks          []sinkEntry         `json:"sinks,omitempty"`
}

// sinkEntry is another system that receives events.
type sinkEntry struct {
	Name    string           `json:"name"`
	Webhook *webhookEntry    `json:"webhook,omitempty"`
	PubSub  *v1alpha1.PubSub `json:"pubsub,omitempty"`
}

type webhookEntry struct {
	URL     contract.URL  `json:"url"`
	Secrets []secretEntry `json:"secrets"`
}

type secretEntry struct {
	Value      string `json:"value"`
	ActiveFrom string `json:"activeFrom,omitempty"`
}

// renderFile returns the file of an environment. It has no keys of the other one,
// and no extension without a key. Without room for all, older Extensions go first;
// one that does not fit is skipped in favour of smaller ones after it.
func renderFile(candidates []fileCandidate, environment Environment) []byte {
	type writtenEntry struct {
		clientID string
		text     []byte
	}
	const heading = "extensions:\n"
	var entries []writtenEntry
	size := len(heading)
	for _, c := range candidates {
		if len(c.keys[environment]) == 0 {
			continue
		}
		text := marshalEntry(c.fileEntry(environment))
		if size+len(text) > MaxBytes {
			c.finding.Full[environment] = true
			continue
		}
		size += len(text)
		c.entries[environment] = text
		entries = append(entries, writtenEntry{string(c.Spec.ClientID), text})
	}
	if len(entries) == 0 {
		return []byte("extensions: []\n")
	}
	slices.SortFunc(entries, func(a, b writtenEntry) int { return strings.Compare(a.clientID, b.clientID) })
	file := bytes.NewBuffer(make([]byte, 0, size))
	file.WriteString(heading)
	for _, e := range entries {
		file.Write(e.text)
	}
	return file.Bytes()
}

func (c fileCandidate) fileEntry(environment Environment) fileEntry {
	e := fileEntry{
		ClientID:            c.Spec.ClientID,
		AppIDs:              c.Spec.AppIDs,
		OwnerUserID:         c.Spec.OwnerUserID,
		AdminUserIDs:        c.Spec.AdminUserIDs,
		ExternalRole:        c.Spec.ExternalRole,
		Moderators:          c.Spec.Moderators,
		GlobalPolls:         c.Spec.GlobalPolls,
		ViewersCreateGlobal: c.Spec.ViewersCreateGlobal,
		declaredBy:          c.name(),
		environmentSettings: c.newSettings(&c.Spec.Environment),
	}
	if environment == Production {
		e.Secrets, e.Sinks = encodeKeys(c.keys[environment]), c.sinks[environment]
		e.SignIn, e.ViewerIssuers = c.signIn, c.viewerIssuers
		return e
	}
	sandbox := c.newSettings(c.Spec.Sandbox)
	sandbox.Secrets, sandbox.Sinks = encodeKeys(c.keys[environment]), c.sinks[environment]
	e.Sandbox = &sandbox
	return e
}

// newSettings returns the settings of an environment without its keys and sinks. Limits
// that the sandbox does not have are those of production, which are bounded themselves.
func (c fileCandidate) newSettings(e *v1alpha1.Environment) environmentSettings {
	limits := e.Limits
	if limits != nil || e != c.Spec.Sandbox {
		limits = boundLimits(limits, c.cap)
	}
	return environmentSettings{AllowedOrigins: e.AllowedOrigins, Limits: limits, Retention: e.Retention}
}

// encodeKeys returns keys as a file has them.
func encodeKeys(keys []usableKey) []secretEntry {
	secrets := make([]secretEntry, 0, len(keys))
	for _, k := range keys {
		s := secretEntry{Value: base64.StdEncoding.EncodeToString(k.value)}
		if !k.activeFrom.IsZero() {
			s.ActiveFrom = k.activeFrom.UTC().Format(time.RFC3339)
		}
		secrets = append(secrets, s)
	}
	return secrets
}

// marshalEntry returns an entry as an element of a list in YAML, after a comment.
func marshalEntry(e fileEntry) []byte {
	text, err := yaml.Marshal([]fileEntry{e})
	if err != nil {
		panic(err) // strings, integers and durations
	}
	if e.declaredBy.Name == "" {
		return text
	}
	return append([]byte(e.heading()), text...)
}
