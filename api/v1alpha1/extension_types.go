package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// ExtensionFinalizer keeps an Extension, and so its keys, until the configurations
// of its deleted Polls are removed from the services.
const ExtensionFinalizer = "acclaim.dev/extension"

// Extension declares an extension of the streaming platform: its ids, its keys and
// its administrators.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ext,categories=acclaim
// +kubebuilder:printcolumn:name="Client",type=string,JSONPath=`.spec.clientID`
// +kubebuilder:printcolumn:name="Backend",type=string,priority=1,JSONPath=`.spec.backendRef.name`
// +kubebuilder:printcolumn:name="Backend Namespace",type=string,priority=1,JSONPath=`.spec.backendRef.namespace`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Extension struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ExtensionSpec `json:"spec"`
	// Status is the observed state. Until an operator has seen the object, its generation
	// is -1, which tools that know kstatus wait for to change.
	// +kubebuilder:default:={"observedGeneration":-1}
	Status ExtensionStatus `json:"status,omitempty"`
}

// ExtensionSpec declares an extension.
//
// +kubebuilder:validation:XValidation:rule="has(self.keys) || (has(self.sandbox) && has(self.sandbox.keys))",message="an extension has a key, for production or for the sandbox"
// +kubebuilder:validation:XValidation:rule="!has(self.appIDs) || !(self.clientID in self.appIDs)",message="clientID must not be one of appIDs"
// +kubebuilder:validation:XValidation:rule="has(self.ownerUserID) && size(self.ownerUserID) > 0 || !(has(self.sinks) && self.sinks.exists(s, has(s.pubsub))) && !(has(self.sandbox) && has(self.sandbox.sinks) && self.sandbox.sinks.exists(s, has(s.pubsub)))",message="a sink of kind pubsub needs ownerUserID, in whose name messages are sent"
// +kubebuilder:validation:XValidation:rule="!has(self.externalRole) || size(self.externalRole) == 0 || !(has(self.sinks) && self.sinks.exists(s, has(s.pubsub) && has(s.pubsub.url))) && !(has(self.sandbox) && has(self.sandbox.sinks) && self.sandbox.sinks.exists(s, has(s.pubsub) && has(s.pubsub.url)))",message="with externalRole, a sink of kind pubsub has no url: its receiver would get tokens of a backend"
type ExtensionSpec struct {
	// ClientID is the extension's id on the platform.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clientID is immutable"
	ClientID ID `json:"clientID"`

	// AppIDs are further ids of the same extension.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	AppIDs []ID `json:"appIDs,omitempty"`

	// OwnerUserID is the user id of the extension's owner.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	OwnerUserID string `json:"ownerUserID,omitempty"`

	// AdminUserIDs are the user ids that may, like the owner, read vote logs and write
	// the extension's state.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	AdminUserIDs []string `json:"adminUserIDs,omitempty"`

	// ExternalRole gives the platform role "external" the rights of "backend". By
	// default it has none.
	// +optional
	// +kubebuilder:validation:Enum=backend
	ExternalRole string `json:"externalRole,omitempty"`

	// Moderators gives tokens with the platform role "moderator" the rights of viewers, or of staff, which
	// configures, resets and moderates the polls and questions of its channel, too. By
	// default it is viewers.
	// +optional
	// +kubebuilder:validation:Enum=viewers;staff
	Moderators string `json:"moderators,omitempty"`

	// SignIn lets people sign in as staff of production with accounts at an OpenID Connect issuer. Without
	// it they need tokens or staff keys.
	// +optional
	SignIn *SignIn `json:"signIn,omitempty"`

	// ViewerIssuers are OpenID Connect issuers whose tokens make people viewers of production, so that a
	// page outside of the platform can vote.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	ViewerIssuers []ViewerIssuer `json:"viewerIssuers,omitempty"`

	// GlobalPolls is the least of the roles that configure, modify and reset polls and
	// questions whose ids begin with "global", which belong to all channels: admin (backends
	// and validated admins), backend, or broadcaster, of any channel. By default it is admin.
	// +optional
	// +kubebuilder:validation:Enum=broadcaster;admin;backend
	GlobalPolls string `json:"globalPolls,omitempty"`

	// ViewersCreateGlobal lets a viewer's first vote or answer bring such a poll or question
	// into being; true by default.
	// +optional
	ViewersCreateGlobal *bool `json:"viewersCreateGlobal,omitempty"`

	// Environment holds the settings of production.
	Environment `json:",inline"`

	// Sandbox holds the settings of the sandbox. Origins, limits and retention default
	// to those of production; backendRef, keys and sinks never do.
	// +optional
	Sandbox *Environment `json:"sandbox,omitempty"`
}

// ID is an id on the streaming platform.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9._-]*$')",message="an id has only letters, digits, '.', '_' and '-'"
type ID string

// Environment holds the settings of an extension for one environment.
type Environment struct {
	// BackendRef names the Backend that serves the extension in this environment. It must
	// be one of this environment and, in another namespace, allow this one
	// (spec.allowedNamespaces). By default all Backends of the environment in this
	// namespace serve it.
	// +optional
	BackendRef *BackendReference `json:"backendRef,omitempty"`

	// Keys sign and verify the extension's tokens. Any active one verifies, the
	// newest active one signs; to rotate, add the new key with a time from which it
	// is active, at least two minutes ahead, and remove the old one when no token
	// signed with it is left.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(key, self.exists_one(other, other.secretRef == key.secretRef))",message="keys must name different entries of Secrets"
	Keys []Key `json:"keys,omitempty"`

	// AllowedOrigins are the origins whose pages may call the API; "*" is any. By
	// default they are the platform's and localhost.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	AllowedOrigins []Origin `json:"allowedOrigins,omitempty"`

	// Limits of the extension; each has a default.
	// +optional
	Limits *Limits `json:"limits,omitempty"`

	// Retention limits how long data is kept; without a period it is kept forever.
	// +optional
	Retention *Retention `json:"retention,omitempty"`

	// Sinks are other systems that receive the extension's events.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Sinks []Sink `json:"sinks,omitempty"`
}

// Sink is another system that receives events: either a webhook or the streaming
// platform's pub/sub.
//
// +kubebuilder:validation:XValidation:rule="has(self.webhook) != has(self.pubsub)",message="a sink has exactly one of webhook and pubsub"
type Sink struct {
	// Name identifies the sink. The positions of its deliveries are stored under it.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([a-z0-9-]*[a-z0-9])?$')",message="the name of a sink has lower-case letters, digits and '-', and begins and ends with a letter or digit"
	Name string `json:"name"`
	// Webhook receives one event in each signed request.
	// +optional
	Webhook *Webhook `json:"webhook,omitempty"`
	// PubSub delivers events to viewers through the streaming platform's pub/sub. Its
	// messages are signed with the extension's key.
	// +optional
	PubSub *PubSub `json:"pubsub,omitempty"`
}

// Webhook is an HTTP endpoint that receives events.
type Webhook struct {
	// URL that events are posted to.
	URL contract.URL `json:"url"`
	// Keys sign requests. Every active one does, so that keys can be rotated.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(key, self.exists_one(other, other.secretRef == key.secretRef))",message="keys must name different entries of Secrets"
	Keys []Key `json:"keys"`
}

// PubSub is the streaming platform's pub/sub.
type PubSub struct {
	// URL that messages are sent to; by default the platform's own address.
	// +optional
	URL contract.URL `json:"url,omitempty"`
}

// Origin is "*", an origin as a browser sends it (scheme://host, or
// scheme://host:port when the port is not the scheme's own), or scheme://host:*
// for every port.
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:XValidation:rule="self.matches('^([*]|https?://([a-z0-9._-]+|[[][0-9a-f:]+])(:([0-9]{1,5}|[*]))?)$')",message="an origin is '*', or scheme and host in lower case, and the port where it is not the scheme's own, such as https://example.com or http://localhost:*; it has no path"
// +kubebuilder:validation:XValidation:rule="!self.matches('^(http://.*:80|https://.*:443)$')",message="an origin leaves out the port that is its scheme's own"
// +kubebuilder:validation:XValidation:rule="!self.contains('[') || self.contains(']') && isIP(self.substring(self.indexOf('[') + 1, self.indexOf(']')))",message="what an origin has in brackets is an IPv6 address"
type Origin string

// Retention limits how long data is kept: durations such as 720h, from 1h to 87600h
// (10 years), or 0s for no limit. The results of removed entries stay.
type Retention struct {
	// Logs is the age after which accepted votes leave the logs of polls. Statistics and
	// limits stay. Viewers that share their user id no more leave the log of `/user_ids`.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|ms|s|m|h))+$') && (duration(self) == duration('0s') || duration(self) >= duration('1h') && duration(self) <= duration('87600h'))",message="logs must be 0s or from 1h to 87600h, in hours, minutes and seconds, such as 720h for 30 days"
	Logs *metav1.Duration `json:"logs,omitempty"`
	// Buffers is the age after which entries leave accumulation buffers.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|ms|s|m|h))+$') && (duration(self) == duration('0s') || duration(self) >= duration('1h') && duration(self) <= duration('87600h'))",message="buffers must be 0s or from 1h to 87600h, in hours, minutes and seconds, such as 720h for 30 days"
	Buffers *metav1.Duration `json:"buffers,omitempty"`
	// Rankings is the age after which submitted answers leave the logs of questions. The
	// rankings stay, whatever the age of the answers that viewers hold.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|ms|s|m|h))+$') && (duration(self) == duration('0s') || duration(self) >= duration('1h') && duration(self) <= duration('87600h'))",message="rankings must be 0s or from 1h to 87600h, in hours, minutes and seconds, such as 720h for 30 days"
	Rankings *metav1.Duration `json:"rankings,omitempty"`
	// Snapshots limits how long the snapshot of an unused poll, buffer or question
	// stays.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|ms|s|m|h))+$') && (duration(self) == duration('0s') || duration(self) >= duration('1h') && duration(self) <= duration('87600h'))",message="snapshots must be 0s or from 1h to 87600h, in hours, minutes and seconds, such as 720h for 30 days"
	Snapshots *metav1.Duration `json:"snapshots,omitempty"`
}

// Key is a base64-encoded secret in a Secret, of 16 to 4096 bytes when decoded, which no
// other Extension has.
type Key struct {
	// SecretRef names the Secret entry with the key.
	SecretRef SecretKeyReference `json:"secretRef"`
	// ActiveFrom is the time from which the key is active; by default it always is.
	// +optional
	ActiveFrom *metav1.Time `json:"activeFrom,omitempty"`
}

// SecretKeyReference names an entry of a Secret in the same namespace.
type SecretKeyReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="the name of a Secret has lower-case letters, digits, '-' and '.', and begins and ends with a letter or digit"
	Name string `json:"name"`
	// Key in the Secret's data.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// Limits bound the use of an extension.
type Limits struct {
	// IdentityRate limits the requests of one identity; by default they are not limited.
	// +optional
	IdentityRate *Rate `json:"identityRate,omitempty"`
	// ExtensionRate limits the requests of all identities together; by default they are
	// not limited.
	// +optional
	ExtensionRate *Rate `json:"extensionRate,omitempty"`
	// DocumentBytes is the largest state or configuration document; 65536 by default.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	DocumentBytes *int32 `json:"documentBytes,omitempty"`
	// BodyBytes is the largest request body; 262144 by default.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=67108864
	BodyBytes *int32 `json:"bodyBytes,omitempty"`
	// AdminMapBytes is the largest body of an extension-viewer state map; 4194304 by
	// default.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=67108864
	AdminMapBytes *int32 `json:"adminMapBytes,omitempty"`
	// AccumulationEntryBytes is the largest accumulated object; 65536 by default.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	AccumulationEntryBytes *int32 `json:"accumulationEntryBytes,omitempty"`
	// TokenHours limits how long a token may still be valid, in hours; 720 by default.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=87600
	TokenHours *int32 `json:"tokenHours,omitempty"`
	// MessageRate limits the messages to one channel, and separately those to the whole
	// extension; by default 10 a second with bursts of 100.
	// +optional
	MessageRate *Rate `json:"messageRate,omitempty"`

	// IdentityStreamsPerHour limits the polls, buffers and questions that one viewer brings
	// into being in an hour; 1000 by default, 0 is no limit. In the sandbox the limits below
	// are those of every role.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1099511627776
	IdentityStreamsPerHour *int64 `json:"identityStreamsPerHour,omitempty"`
	// ExtensionStreamsPerDay is the same for all viewers together in a day; 100000 by
	// default, 0 is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1099511627776
	ExtensionStreamsPerDay *int64 `json:"extensionStreamsPerDay,omitempty"`
	// IdentityBytesPerDay limits what one viewer sends to be stored in a day, in bytes;
	// 67108864 by default, 0 is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1099511627776
	IdentityBytesPerDay *int64 `json:"identityBytesPerDay,omitempty"`
	// ExtensionBytesPerDay is the same for all viewers together; 68719476736 by default, 0 is
	// no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1099511627776
	ExtensionBytesPerDay *int64 `json:"extensionBytesPerDay,omitempty"`
	// ExtensionDocumentsPerDay limits the documents of state that all viewers together bring
	// into being in a day; 1000000 by default, 0 is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1099511627776
	ExtensionDocumentsPerDay *int64 `json:"extensionDocumentsPerDay,omitempty"`
	// IdentityWhispersPerHour limits the messages that one viewer sends to itself in an
	// hour; 1000 by default, 0 is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1099511627776
	IdentityWhispersPerHour *int64 `json:"identityWhispersPerHour,omitempty"`
}

// Rate is a token bucket.
type Rate struct {
	// PerSecond is the sustained number of requests a second; 0 is no limit.
	// +kubebuilder:validation:Minimum=0
	PerSecond int32 `json:"perSecond"`
	// Burst is the number of requests allowed at once; by default that of one second.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Burst *int32 `json:"burst,omitempty"`
}

// ExtensionStatus is the observed state of an Extension.
type ExtensionStatus struct {
	// ObservedGeneration is the generation of the spec that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are KeysUsable, Registered and Ready, and Reconciling or Stalled while
	// Ready is not true.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ExtensionList is a list of Extensions.
//
// +kubebuilder:object:root=true
type ExtensionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Extension `json:"items"`
}
