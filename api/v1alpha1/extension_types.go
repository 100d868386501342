package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Extension declares an extension of the streaming platform: its ids, its keys
// and who administers it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ext,categories=acclaim
// +kubebuilder:printcolumn:name="Client",type=string,JSONPath=`.spec.clientID`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Extension struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ExtensionSpec   `json:"spec"`
	Status ExtensionStatus `json:"status,omitempty"`
}

// ExtensionSpec is what an extension should be.
//
// +kubebuilder:validation:XValidation:rule="has(self.keys) || (has(self.sandbox) && has(self.sandbox.keys))",message="an extension has a key, for production or for the sandbox"
// +kubebuilder:validation:XValidation:rule="!has(self.appIDs) || !(self.clientID in self.appIDs)",message="the client id is not one of the app ids"
// +kubebuilder:validation:XValidation:rule="has(self.ownerUserID) && size(self.ownerUserID) > 0 || !(has(self.sinks) && self.sinks.exists(s, has(s.pubsub))) && !(has(self.sandbox) && has(self.sandbox.sinks) && self.sandbox.sinks.exists(s, has(s.pubsub)))",message="a sink of kind pubsub needs ownerUserID, in whose name messages are sent"
type ExtensionSpec struct {
	// ClientID is the extension's id on the platform.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clientID is immutable"
	ClientID ID `json:"clientID"`

	// AppIDs are further ids that mean the same extension.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	AppIDs []ID `json:"appIDs,omitempty"`

	// OwnerUserID is the user id of the extension's owner.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	OwnerUserID string `json:"ownerUserID,omitempty"`

	// AdminUserIDs are the user ids of those who, with the owner, may read vote logs
	// and write the extension's state.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	AdminUserIDs []string `json:"adminUserIDs,omitempty"`

	// ExternalRole is what the platform role "external" may do: nothing when left
	// out, or the same as "backend".
	// +optional
	// +kubebuilder:validation:Enum=backend
	ExternalRole string `json:"externalRole,omitempty"`

	// Environment holds what is for production.
	Environment `json:",inline"`

	// Sandbox holds what is for the sandbox. Origins, limits and retention left out
	// are those of production; keys and sinks never are.
	// +optional
	Sandbox *Environment `json:"sandbox,omitempty"`
}

// ID is an id on the streaming platform.
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]{1,128}$`
// +kubebuilder:validation:MaxLength=128
type ID string

// Environment is what an extension has for one environment.
type Environment struct {
	// Keys sign and verify the extension's tokens. Any active one verifies, the
	// newest active one signs; to rotate, add the new key with a time from which it
	// is active, at least two minutes ahead, and remove the old one when no token
	// signed with it is left.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Keys []Key `json:"keys,omitempty"`

	// AllowedOrigins are the origins whose pages may call; "*" is any. Left out, they
	// are the platform's and localhost.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	AllowedOrigins []Origin `json:"allowedOrigins,omitempty"`

	// Limits of the extension; what is left out is the default.
	// +optional
	Limits *Limits `json:"limits,omitempty"`

	// Retention is how long data is kept; what is left out is kept for good.
	// +optional
	Retention *Retention `json:"retention,omitempty"`

	// Sinks are other systems that are told of the extension's events.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Sinks []Sink `json:"sinks,omitempty"`
}

// Sink is another system that is told of events: either a webhook or the streaming
// platform's pub/sub.
//
// +kubebuilder:validation:XValidation:rule="has(self.webhook) != has(self.pubsub)",message="a sink has either webhook or pubsub"
type Sink struct {
	// Name tells the sink apart from others. What was delivered is remembered under
	// it.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`
	Name string `json:"name"`
	// Webhook is told of one event in each signed request.
	// +optional
	Webhook *Webhook `json:"webhook,omitempty"`
	// PubSub is the streaming platform's, which carries events to viewers. Its messages
	// are signed with the extension's key.
	// +optional
	PubSub *PubSub `json:"pubsub,omitempty"`
}

// Webhook is where events are posted.
type Webhook struct {
	// URL is where.
	URL SinkURL `json:"url"`
	// Keys sign requests: every active one does, so that they can be rotated.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	Keys []Key `json:"keys"`
}

// PubSub is the streaming platform's.
type PubSub struct {
	// URL is where messages are sent; the platform's own address when left out.
	// +optional
	URL SinkURL `json:"url,omitempty"`
}

// SinkURL is an http or https URL without user, password and fragment.
// +kubebuilder:validation:MaxLength=1024
// +kubebuilder:validation:Pattern=`^https?://[^/?#@:][^/?#@]*([/?][^#]*)?$`
// +kubebuilder:validation:XValidation:rule="isURL(self)",message="must be an http or https URL"
type SinkURL string

// Origin is "*", an origin as a browser sends it (scheme://host, or
// scheme://host:port when the port is not the scheme's own), or scheme://host:*
// for every port.
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:Pattern=`^(\*|https?://([a-z0-9._-]+|\[[0-9a-f:]+\])(:([0-9]{1,5}|\*))?)$`
// +kubebuilder:validation:XValidation:rule="!self.matches('^(http://.*:80|https://.*:443)$')",message="an origin leaves out the port that is its scheme's own"
// +kubebuilder:validation:XValidation:rule="!self.contains('[') || isIP(self.substring(self.indexOf('[') + 1, self.indexOf(']')))",message="what an origin has in brackets is an IPv6 address"
type Origin string

// Retention is how long data is kept: durations such as 720h, from 1h to 87600h
// (10 years), or 0s for ever. What the logs added up to stays.
type Retention struct {
	// Logs is the age after which accepted votes leave the logs of polls. Statistics and
	// limits stay.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration('0s') || duration(self) >= duration('1h') && duration(self) <= duration('87600h')",message="logs must be 0s or from 1h to 87600h"
	Logs *metav1.Duration `json:"logs,omitempty"`
	// Buffers is the age after which entries leave accumulation buffers.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration('0s') || duration(self) >= duration('1h') && duration(self) <= duration('87600h')",message="buffers must be 0s or from 1h to 87600h"
	Buffers *metav1.Duration `json:"buffers,omitempty"`
	// Rankings is the age after which submitted answers leave the logs of questions. The
	// rankings stay, whatever the age of the answers that viewers hold.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration('0s') || duration(self) >= duration('1h') && duration(self) <= duration('87600h')",message="rankings must be 0s or from 1h to 87600h"
	Rankings *metav1.Duration `json:"rankings,omitempty"`
	// Snapshots is how long a poll, buffer or question is unused before its snapshot is
	// deleted.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration('0s') || duration(self) >= duration('1h') && duration(self) <= duration('87600h')",message="snapshots must be 0s or from 1h to 87600h"
	Snapshots *metav1.Duration `json:"snapshots,omitempty"`
}

// Key is a base64-encoded secret in a Secret, of 1 to 4096 bytes when decoded.
type Key struct {
	// SecretRef says where the key is.
	SecretRef SecretKeyReference `json:"secretRef"`
	// ActiveFrom is when the key comes into force; left out, it is in force.
	// +optional
	ActiveFrom *metav1.Time `json:"activeFrom,omitempty"`
}

// SecretKeyReference names an entry of a Secret in the same namespace.
type SecretKeyReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in the Secret's data.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// Limits bound what an extension may do.
type Limits struct {
	// IdentityRate is how often one identity may ask; left out, it is not limited.
	// +optional
	IdentityRate *Rate `json:"identityRate,omitempty"`
	// ExtensionRate is how often all identities together may ask; left out, it is not
	// limited.
	// +optional
	ExtensionRate *Rate `json:"extensionRate,omitempty"`
	// DocumentBytes is the largest state or configuration document; 65536 when left out.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	DocumentBytes *int32 `json:"documentBytes,omitempty"`
	// BodyBytes is the largest request body; 262144 when left out.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=67108864
	BodyBytes *int32 `json:"bodyBytes,omitempty"`
	// AdminMapBytes is the largest body of an extension-viewer state map; 4194304 when
	// left out.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=67108864
	AdminMapBytes *int32 `json:"adminMapBytes,omitempty"`
	// AccumulationEntryBytes is the largest accumulated object; 65536 when left out.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	AccumulationEntryBytes *int32 `json:"accumulationEntryBytes,omitempty"`
	// MessageRate is how often something may be said to one channel, and as often to the
	// whole extension; 10 a second and 100 at once when left out.
	// +optional
	MessageRate *Rate `json:"messageRate,omitempty"`
}

// Rate is how often something may happen.
type Rate struct {
	// PerSecond is how many requests a second are allowed in the long run; 0 is no limit.
	// +kubebuilder:validation:Minimum=0
	PerSecond int32 `json:"perSecond"`
	// Burst is how many are allowed at once; left out, one second's worth.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Burst *int32 `json:"burst,omitempty"`
}

// ExtensionStatus is what the operator last saw and did.
type ExtensionStatus struct {
	// ObservedGeneration is the generation of the spec that the rest speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions say how the Extension is.
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
