package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Poll declares the configuration of one poll of an extension.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pl,categories=acclaim
// +kubebuilder:selectablefield:JSONPath=`.spec.extensionRef.name`
// +kubebuilder:printcolumn:name="Extension",type=string,JSONPath=`.spec.extensionRef.name`
// +kubebuilder:printcolumn:name="Channel",type=string,JSONPath=`.spec.channel`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.pollStatus`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec.id) || (self.metadata.name.size() <= 64 && !self.metadata.name.contains('.'))",message="without spec.id the name is the poll's id: at most 64 characters and no '.'"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.id) ? self.spec.id : self.metadata.name).startsWith('global') == self.spec.global",message="the id of a global poll begins with 'global', that of any other does not"
type Poll struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PollSpec   `json:"spec"`
	Status PollStatus `json:"status,omitempty"`
}

// PollSpec is what a poll should be. The fields that say which poll it is
// cannot change: delete the Poll and declare another.
//
// +kubebuilder:validation:XValidation:rule="self.global != has(self.channel)",message="either channel is set or global is true"
// +kubebuilder:validation:XValidation:rule="self.global == oldSelf.global",message="global is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.channel) == has(oldSelf.channel) && (!has(self.channel) || self.channel == oldSelf.channel)",message="channel is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.id) == has(oldSelf.id) && (!has(self.id) || self.id == oldSelf.id)",message="id is immutable"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.backendRef) || (has(self.backendRef) && self.backendRef == oldSelf.backendRef)",message="backendRef is immutable once it is set"
// +kubebuilder:validation:XValidation:rule="!has(self.startsAt) || !has(self.endsAt) || self.startsAt <= self.endsAt",message="startsAt must not be after endsAt"
type PollSpec struct {
	// ExtensionRef names the Extension in the same namespace that the poll belongs to.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="extensionRef is immutable"
	ExtensionRef ObjectReference `json:"extensionRef"`

	// BackendRef names the Backend in the same namespace that serves the poll. Left
	// out, it is the namespace's only Backend or, of several, the one named "default".
	// A namespace without any gets one of that name from the operator. A Poll stays
	// with the Backend that it was configured in while that one exists, and the
	// reference can be set later but not changed.
	// +optional
	BackendRef *ObjectReference `json:"backendRef,omitempty"`

	// ID is the poll's id in the API, at most 64 characters and without a dot. Left
	// out, it is the name of this object.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="!self.contains('.')",message="id must not contain '.'"
	ID *string `json:"id,omitempty"`

	// Channel is the id of the channel whose viewers vote.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Channel string `json:"channel,omitempty"`

	// Global makes the poll extension-wide instead of one channel's. Its id must
	// begin with "global".
	// +kubebuilder:default=false
	Global bool `json:"global,omitempty"`

	// Prompt is the question, at most 256 bytes of UTF-8.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="bytes(self).size() <= 256",message="prompt must be at most 256 bytes"
	Prompt string `json:"prompt,omitempty"`

	// Options are the answers in the order of their vote values, which begin at 0:
	// at most 32, each at most 128 bytes of UTF-8.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.all(option, bytes(option).size() <= 128)",message="each of options must be at most 128 bytes"
	Options []string `json:"options,omitempty"`

	// DistinctOptionsPerUser is how many different values one voter may vote for.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=258
	DistinctOptionsPerUser int64 `json:"distinctOptionsPerUser,omitempty"`

	// TotalVotesPerUser is how many votes one voter has. With 1, a later vote
	// replaces the earlier; with more, votes add up.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	TotalVotesPerUser int64 `json:"totalVotesPerUser,omitempty"`

	// VotesPerOption is how many votes one voter may give to one value.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	VotesPerOption int64 `json:"votesPerOption,omitempty"`

	// VoterIdentity is what tells voters apart: the opaque id that every viewer has,
	// or the shared user id, without which a viewer may then not vote.
	// +kubebuilder:default=OpaqueUserID
	VoterIdentity VoterIdentity `json:"voterIdentity,omitempty"`

	// StartsAt is when the poll opens, in RFC 3339; fractions of a second are dropped.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self > timestamp('1970-01-01T00:00:00Z')",message="startsAt must be after 1970-01-01T00:00:00Z"
	StartsAt *metav1.Time `json:"startsAt,omitempty"`

	// EndsAt is when the poll expires, in RFC 3339; fractions of a second are dropped.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self > timestamp('1970-01-01T00:00:00Z')",message="endsAt must be after 1970-01-01T00:00:00Z"
	EndsAt *metav1.Time `json:"endsAt,omitempty"`

	// Disabled refuses votes whatever the schedule says.
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// UserData is any JSON, at most 1024 bytes without insignificant white space. A
	// schema cannot measure free JSON: when it is larger, the condition Configured
	// is False with the reason InvalidConfiguration.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	UserData *apiextensionsv1.JSON `json:"userData,omitempty"`

	// DeletionPolicy is what becomes of votes and configuration when this object is
	// deleted: Delete removes them, Retain leaves them as they are.
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// DriftPolicy is what happens when the configuration in the service is not the
	// declared one: Enforce writes it back, Observe only says so in the condition
	// Configured, InitOnly writes it once and never looks again.
	// +kubebuilder:default=Enforce
	DriftPolicy DriftPolicy `json:"driftPolicy,omitempty"`
}

// ObjectReference names an object of a known kind in the same namespace.
type ObjectReference struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// VoterIdentity is what tells voters apart.
// +kubebuilder:validation:Enum=OpaqueUserID;SharedUserID
type VoterIdentity string

// The identities that a voter may have.
const (
	OpaqueUserID VoterIdentity = "OpaqueUserID"
	SharedUserID VoterIdentity = "SharedUserID"
)

// DeletionPolicy is what becomes of a poll when its object is deleted.
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

// The deletion policies.
const (
	DeletionDelete DeletionPolicy = "Delete"
	DeletionRetain DeletionPolicy = "Retain"
)

// DriftPolicy is what happens to a configuration changed behind the operator's back.
// +kubebuilder:validation:Enum=Enforce;Observe;InitOnly
type DriftPolicy string

// The drift policies.
const (
	DriftEnforce  DriftPolicy = "Enforce"
	DriftObserve  DriftPolicy = "Observe"
	DriftInitOnly DriftPolicy = "InitOnly"
)

// PollStatus is what the operator last saw and did.
type PollStatus struct {
	// ObservedGeneration is the generation of the spec that the rest speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are ServicesAvailable, Configured and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// PollStatus is where the poll stands in its schedule: pending, active or expired.
	// +optional
	PollStatus string `json:"pollStatus,omitempty"`

	// NextTransitionTime is when pollStatus turns next.
	// +optional
	NextTransitionTime *metav1.Time `json:"nextTransitionTime,omitempty"`

	// Backend is the name of the Backend that holds the configuration.
	// +optional
	Backend string `json:"backend,omitempty"`

	// AppliedHash is that of the configuration last written to the service. The
	// service does not return prompt and userData, so this is how a change of them
	// is noticed.
	// +optional
	AppliedHash string `json:"appliedHash,omitempty"`

	// Statistics are those of the poll when it expired, written once for each end.
	// +optional
	Statistics *PollStatistics `json:"statistics,omitempty"`
}

// PollStatistics are a poll's final numbers. Fractions are decimal text, because
// numbers in Kubernetes objects are integers.
type PollStatistics struct {
	// EndsAt is the end that the numbers are of.
	EndsAt metav1.Time `json:"endsAt"`
	// Count is the number of stored votes after modifiers.
	Count int64 `json:"count"`
	// Sum of the counted values.
	Sum string `json:"sum"`
	// Mean of the counted values.
	Mean string `json:"mean"`
	// Stddev is the sample deviation of the counted values.
	Stddev string `json:"stddev"`
	// Specific holds the number of votes of each value from 0 to 31.
	// +listType=atomic
	Specific []int64 `json:"specific"`
}

// PollList is a list of Polls.
//
// +kubebuilder:object:root=true
type PollList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Poll `json:"items"`
}

// PollID returns the poll's id in the API.
func (p *Poll) PollID() string {
	if p.Spec.ID != nil {
		return *p.Spec.ID
	}
	return p.Name
}
