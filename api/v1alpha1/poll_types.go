package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// PollFinalizer keeps a Poll until its configuration is removed from the service.
const PollFinalizer = "acclaim.dev/poll"

// Poll declares the configuration of one poll of an extension.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pl,categories=acclaim
// +kubebuilder:selectablefield:JSONPath=`.spec.extensionRef.name`
// +kubebuilder:printcolumn:name="Extension",type=string,JSONPath=`.spec.extensionRef.name`
// +kubebuilder:printcolumn:name="Channel",type=string,JSONPath=`.spec.channel`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.pollStatus`
// +kubebuilder:printcolumn:name="Votes",type=integer,JSONPath=`.status.live.count`
// +kubebuilder:printcolumn:name="Leader",type=string,JSONPath=`.status.live.leader`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Backend",type=string,priority=1,JSONPath=`.status.backend`
// +kubebuilder:printcolumn:name="Results",type=string,priority=1,JSONPath=`.spec.resultsVisibility`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec.id) || (self.metadata.name.size() <= 64 && !self.metadata.name.contains('.'))",message="without spec.id the name is the poll's id: at most 64 characters and no '.'",fieldPath=".spec.id"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.id) ? self.spec.id : self.metadata.name).startsWith('global') == self.spec.global",message="the id of a global poll begins with 'global', that of any other does not",fieldPath=".spec.id"
type Poll struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PollSpec `json:"spec"`
	// Status is the observed state. Until an operator has seen the object, its generation
	// is -1, which tools that know kstatus wait for to change.
	// +kubebuilder:default:={"observedGeneration":-1}
	Status PollStatus `json:"status,omitempty"`
}

// PollSpec declares the configuration of a poll. The fields that identify the poll
// are immutable: delete the Poll and declare another.
//
// +kubebuilder:validation:XValidation:rule="self.global != has(self.channel)",message="set exactly one of channel and global: true"
// +kubebuilder:validation:XValidation:rule="self.global == oldSelf.global",message="global is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.channel) == has(oldSelf.channel) && (!has(self.channel) || self.channel == oldSelf.channel)",message="channel is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.id) == has(oldSelf.id) && (!has(self.id) || self.id == oldSelf.id)",message="id is immutable"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.backendRef) || (has(self.backendRef) && self.backendRef == oldSelf.backendRef)",message="backendRef is immutable once it is set"
// +kubebuilder:validation:XValidation:rule="!has(self.startsAt) || !has(self.endsAt) || int(self.startsAt) < int(self.endsAt) || oldSelf.hasValue() && has(oldSelf.value().startsAt) && has(oldSelf.value().endsAt) && self.startsAt == timestamp(dyn(oldSelf.value().startsAt)) && self.endsAt == timestamp(dyn(oldSelf.value().endsAt))",optionalOldSelf=true,message="startsAt must be before endsAt, in whole seconds"
// +kubebuilder:validation:XValidation:rule="!has(self.showCount) || !self.showCount || (has(self.resultsVisibility) && self.resultsVisibility != 'Always')",message="showCount needs a resultsVisibility other than Always"
type PollSpec struct {
	// ExtensionRef names the Extension in the same namespace that the poll belongs to.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="extensionRef is immutable"
	ExtensionRef ObjectReference `json:"extensionRef"`

	// BackendRef names the Backend that serves the poll. In another namespace it must allow
	// this one (spec.allowedNamespaces). By default it is the one that the Extension names
	// or, without one, the namespace's only Backend or, of several, the one named
	// "default". In a namespace without Backends the operator creates one of that name.
	// A Poll stays with the Backend that holds its configuration while that one exists and
	// the Extension names no other. The reference can be set later but not changed.
	// +optional
	BackendRef *BackendReference `json:"backendRef,omitempty"`

	// ID is the poll's id in the API, at most 64 characters and without a dot. By
	// default it is the name of this object.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="!self.contains('.')",message="id must not contain '.'"
	// +kubebuilder:validation:XValidation:rule=`!self.matches(r'\p{Cc}|^\pZ|\pZ$')`,message="id must not begin or end with white space, or have control characters"
	ID *string `json:"id,omitempty"`

	// Channel is the id of the channel whose viewers vote.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule=`!self.matches(r'[\pC]|[^ \PZ]|^ | $')`,message="channel must not be blank, begin or end with a space, or have other white space or control characters"
	Channel string `json:"channel,omitempty"`

	// Global makes the poll extension-wide instead of one channel's. Its id must
	// begin with "global".
	// +kubebuilder:default=false
	Global bool `json:"global,omitempty"`

	// Prompt is the question, at most 256 bytes of UTF-8.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="bytes(self).size() <= 256",message="prompt must be at most 256 bytes"
	// +kubebuilder:validation:XValidation:rule=`!self.contains('\u0000')`,message="prompt must not contain NUL"
	Prompt string `json:"prompt,omitempty"`

	// Options are the answers in the order of their vote values, which start at 0: at
	// most 32, each at most 128 bytes of UTF-8.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.all(option, option != '' && self.exists_one(other, other == option))",message="options must not be empty and must differ from each other"
	// +kubebuilder:validation:XValidation:rule="self.all(option, bytes(option).size() <= 128)",message="each of options must be at most 128 bytes"
	// +kubebuilder:validation:XValidation:rule=`self.all(option, !option.contains('\u0000'))`,message="options must not contain NUL"
	Options []string `json:"options,omitempty"`

	// Pictures are the ids of the pictures of the options, in their order: those that POST
	// /pictures answered with for the Poll's channel, or "" for an option without one. A Poll for
	// all channels has none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^([A-Za-z0-9_-]{22})?$`
	// +kubebuilder:validation:items:MaxLength=22
	Pictures []string `json:"pictures,omitempty"`

	// DistinctOptionsPerUser is the number of different values one voter may vote for.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=258
	DistinctOptionsPerUser int64 `json:"distinctOptionsPerUser,omitempty"`

	// TotalVotesPerUser is the number of votes of one voter. With 1, a later vote
	// replaces the earlier one; with more, votes add up.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	TotalVotesPerUser int64 `json:"totalVotesPerUser,omitempty"`

	// VotesPerOption is the number of votes one voter may give to one value.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	VotesPerOption int64 `json:"votesPerOption,omitempty"`

	// VoterIdentity is the id that distinguishes voters: the opaque id that every viewer
	// has, or the shared user id, without which a viewer may then not vote.
	// +kubebuilder:default=OpaqueUserID
	VoterIdentity VoterIdentity `json:"voterIdentity,omitempty"`

	// StartsAt is the time at which the poll opens, in RFC 3339; fractions of a second
	// are dropped.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self > timestamp('1970-01-01T00:00:00Z')",message="startsAt must be after 1970-01-01T00:00:00Z"
	StartsAt *metav1.Time `json:"startsAt,omitempty"`

	// EndsAt is the time at which the poll expires, in RFC 3339; fractions of a second
	// are dropped.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self > timestamp('1970-01-01T00:00:00Z')",message="endsAt must be after 1970-01-01T00:00:00Z"
	EndsAt *metav1.Time `json:"endsAt,omitempty"`

	// Disabled refuses votes regardless of the schedule.
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// ResultsVisibility decides when viewers see the results: Always; AfterVote, once
	// they have voted or the poll has expired; AfterClose, once the poll has expired; or
	// Staff, never. Broadcasters, admins and backends always see them.
	// +kubebuilder:default=Always
	ResultsVisibility ResultsVisibility `json:"resultsVisibility,omitempty"`

	// ShowCount shows viewers the number of votes where the other results are hidden.
	// +optional
	ShowCount bool `json:"showCount,omitempty"`

	contract.PollSettings `json:",inline"`

	// LoggedInOnly refuses the votes of viewers that are not logged in to the platform,
	// who get a new opaque id whenever they ask for one.
	// +optional
	LoggedInOnly bool `json:"loggedInOnly,omitempty"`

	// Strict refuses votes for a value that none of the options has, options that are
	// blank, and times after the year 2100; and, once there are votes, another question: see
	// changeQuestion. By default it is true, but for Polls from before this field existed.
	// +optional
	Strict *bool `json:"strict,omitempty"`

	// ChangeQuestion decides what happens when the prompt of a strict poll with votes, or
	// options that it had, change in this object: Refuse keeps the configuration and the
	// votes and reports the field in the condition Configured, KeepVotes counts the votes
	// for the new question, Reset deletes them.
	// +kubebuilder:default=Refuse
	ChangeQuestion ChangeQuestion `json:"changeQuestion,omitempty"`

	// UserData is any JSON, at most 1024 bytes without insignificant white space. A
	// schema cannot measure free JSON: when it is larger, the condition Configured
	// is False with the reason InvalidConfiguration.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	UserData *apiextensionsv1.JSON `json:"userData,omitempty"`

	// ReportInterval is the time between two reports of the votes in status.live while the
	// poll is active: a duration such as 30s, from 10s to 24h. By default nothing is
	// reported. Each report is two requests to the service and a write to the API server.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|ms|s|m|h))+$') && duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="reportInterval must be from 10s to 24h, in hours, minutes and seconds, such as 1m30s"
	ReportInterval *metav1.Duration `json:"reportInterval,omitempty"`

	// DeletionPolicy decides about votes and configuration when this object is deleted:
	// Delete removes them, Retain keeps them.
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// DriftPolicy decides what happens when the configuration in the service differs
	// from the declared one: Enforce writes the declared one back, Observe only reports
	// it in the condition Configured, InitOnly writes it once and never compares it.
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

// BackendReference names a Backend.
type BackendReference struct {
	// Name of the Backend.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Namespace of the Backend; by default that of the object that names it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="the name of a namespace has lower-case letters, digits and '-', and begins and ends with a letter or digit"
	Namespace string `json:"namespace,omitempty"`
}

// VoterIdentity is the id that distinguishes voters.
// +kubebuilder:validation:Enum=OpaqueUserID;SharedUserID
type VoterIdentity string

// The identities of voters.
const (
	OpaqueUserID VoterIdentity = "OpaqueUserID"
	SharedUserID VoterIdentity = "SharedUserID"
)

// ResultsVisibility decides when viewers see the results of a poll.
// +kubebuilder:validation:Enum=Always;AfterVote;AfterClose;Staff
type ResultsVisibility string

// The visibilities of results.
const (
	ResultsAlways     ResultsVisibility = "Always"
	ResultsAfterVote  ResultsVisibility = "AfterVote"
	ResultsAfterClose ResultsVisibility = "AfterClose"
	ResultsStaff      ResultsVisibility = "Staff"
)

// ChangeQuestion decides about votes when a poll gets another question.
// +kubebuilder:validation:Enum=Refuse;KeepVotes;Reset
type ChangeQuestion string

// The policies for another question.
const (
	ChangeRefuse    ChangeQuestion = "Refuse"
	ChangeKeepVotes ChangeQuestion = "KeepVotes"
	ChangeReset     ChangeQuestion = "Reset"
)

// DeletionPolicy decides about a poll when its object is deleted.
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

// The deletion policies.
const (
	DeletionDelete DeletionPolicy = "Delete"
	DeletionRetain DeletionPolicy = "Retain"
)

// DriftPolicy decides about a configuration that was changed in the service.
// +kubebuilder:validation:Enum=Enforce;Observe;InitOnly
type DriftPolicy string

// The drift policies.
const (
	DriftEnforce  DriftPolicy = "Enforce"
	DriftObserve  DriftPolicy = "Observe"
	DriftInitOnly DriftPolicy = "InitOnly"
)

// PollStatus is the observed state of a Poll.
type PollStatus struct {
	// ObservedGeneration is the generation of the spec that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are ServicesAvailable, Configured, Ready and Ended, and Reconciling or
	// Stalled while Ready is not true.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// PollStatus is the phase of the poll's schedule: pending, active or expired.
	// +optional
	PollStatus string `json:"pollStatus,omitempty"`

	// NextTransitionTime is the time of the next change of pollStatus.
	// +optional
	NextTransitionTime *metav1.Time `json:"nextTransitionTime,omitempty"`

	// Backend is the name of the Backend that holds the configuration.
	// +optional
	Backend string `json:"backend,omitempty"`
	// BackendNamespace is the namespace of that Backend, where it is not that of the Poll.
	// +optional
	BackendNamespace string `json:"backendNamespace,omitempty"`

	// AppliedHash is the hash of the configuration last written to the service. The
	// service does not return prompt and userData: their changes show in the hash.
	// +optional
	AppliedHash string `json:"appliedHash,omitempty"`

	// StrictByDefault is the value of spec.strict where that is absent: true for a Poll that
	// an operator with this field was the first to see.
	// +optional
	StrictByDefault bool `json:"strictByDefault,omitempty"`

	// Statistics are the poll's final statistics, written once for each end.
	// +optional
	Statistics *PollStatistics `json:"statistics,omitempty"`

	// Live are the votes of a Poll with a reportInterval when they were last reported.
	// +optional
	Live *LiveStatistics `json:"live,omitempty"`
}

// LiveStatistics are the votes of a poll at one time.
type LiveStatistics struct {
	// Time of the report.
	Time metav1.Time `json:"time"`
	// Count is the number of stored votes after modifiers.
	Count int64 `json:"count"`
	// Leader is the option with the most votes, or its value where the Poll declares no
	// options; the first of several, empty without votes.
	// +optional
	Leader string `json:"leader,omitempty"`
	// Rate is the number of votes a second since the report before, as decimal text.
	Rate string `json:"rate"`
}

// PollStatistics are a poll's final statistics. Fractions are decimal text, because
// numbers in Kubernetes objects are integers.
type PollStatistics struct {
	// EndsAt is the end that the statistics belong to.
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

// IsStrict reports whether the poll is strict.
func (p *Poll) IsStrict() bool {
	if p.Spec.Strict != nil {
		return *p.Spec.Strict
	}
	return p.Status.StrictByDefault
}

// PollID returns the poll's id in the API.
func (p *Poll) PollID() string {
	if p.Spec.ID != nil {
		return *p.Spec.ID
	}
	return p.Name
}
