package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Backup declares one backup of what a Backend has stored. The operator creates one Job
// for it. The backup stays where it is when the object is deleted.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=bak,categories=acclaim
// +kubebuilder:printcolumn:name="Backend",type=string,JSONPath=`.spec.backendRef.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Stopped",type=date,JSONPath=`.status.stoppedAt`
// +kubebuilder:printcolumn:name="Destination",type=string,priority=1,JSONPath=`.status.destination`
// +kubebuilder:printcolumn:name="Error",type=string,priority=1,JSONPath=`.status.error`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?$')",message="the name is part of the name of a Job: at most 50 lower-case letters, digits and '-', none of them '-' at either end",fieldPath=".metadata"
type Backup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a Backup is immutable: create another one"
	Spec BackupSpec `json:"spec"`
	// Status is the observed state. Until an operator has seen the object, its generation
	// is -1, which tools that know kstatus wait for to change.
	// +kubebuilder:default:={"observedGeneration":-1}
	Status BackupStatus `json:"status,omitempty"`
}

// BackupSpec declares which store is backed up, and where to.
type BackupSpec struct {
	// BackendRef names the Backend, of the same namespace.
	BackendRef ObjectReference `json:"backendRef"`
	// Where the backup goes.
	Where BackupPlace `json:"where"`
	// Pod declares the pod that writes the backup; its deadline is 6 hours by default.
	// +optional
	Pod TaskPod `json:"pod,omitempty"`
}

// BackupPlace is a folder in a volume, or a prefix in object storage, that holds the
// backups of one Backend.
//
// +kubebuilder:validation:XValidation:rule="has(self.claimName) != has(self.s3)",message="backups are in one place: set either claimName or s3"
type BackupPlace struct {
	// ClaimName names a PersistentVolumeClaim of the same namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClaimName string `json:"claimName,omitempty"`
	// S3 is S3-compatible object storage.
	// +optional
	S3 *ObjectStorage `json:"s3,omitempty"`
	// Folder in the volume or, in object storage, below the URL's prefix; by default the
	// name of the Backend. Two Backends must not share one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$')",message="folder is a relative path of letters, digits, '.', '_' and '-' without a part that begins with '.'"
	Folder string `json:"folder,omitempty"`
}

// ObjectStorage is S3-compatible object storage.
type ObjectStorage struct {
	// URL of bucket and prefix, s3://BUCKET/PREFIX.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^s3://[^/[:space:]]+(/[^[:space:]]*)?$')",message="url is s3://BUCKET or s3://BUCKET/PREFIX"
	URL string `json:"url"`
	// Endpoint is the address of the storage, https://HOST; by default that of AWS.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https?://[^/[:space:]]+/?)?$')",message="endpoint is https://HOST, or http://HOST"
	Endpoint string `json:"endpoint,omitempty"`
	// Region of the bucket; by default the storage is asked.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Region string `json:"region,omitempty"`
	// SecretName names a Secret of the same namespace with AWS_ACCESS_KEY_ID and
	// AWS_SECRET_ACCESS_KEY. Without one the pods need a role.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`
}

// RestoreFrom names a backup.
type RestoreFrom struct {
	// Where the backups are. Folder is by default the name of this Backend.
	Where BackupPlace `json:"where"`
	// Before is the time at which the backup had begun at the latest; by default it is the
	// newest.
	// +optional
	Before *metav1.Time `json:"before,omitempty"`
	// Extensions are the client ids of those to restore; by default all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	Extensions []ID `json:"extensions,omitempty"`
	// Pod declares the pod that restores; its deadline is 24 hours by default.
	// +optional
	Pod TaskPod `json:"pod,omitempty"`
}

// TaskPod declares the pods of a Job.
type TaskPod struct {
	// ServiceAccountName of the pods, such as one with a role that reaches the storage; by
	// default that of the Backend's services.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// Resources of the container; by default those of a service.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// DeadlineHours is the time after which a Job that has not ended fails.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=720
	DeadlineHours *int32 `json:"deadlineHours,omitempty"`
}

// BackupPhase summarizes a Backup.
// +kubebuilder:validation:Enum=Pending;Running;Completed;Failed
type BackupPhase string

// The phases of a Backup. The last two are final.
const (
	// BackupPending: there is no Job yet.
	BackupPending BackupPhase = "Pending"
	// BackupRunning: the Job has not ended.
	BackupRunning BackupPhase = "Running"
	// BackupCompleted: the backup is whole and durable.
	BackupCompleted BackupPhase = "Completed"
	// BackupFailed: the Job has failed, and there is no new backup.
	BackupFailed BackupPhase = "Failed"
)

// BackupStatus is the observed state of a Backup.
type BackupStatus struct {
	// ObservedGeneration is the generation of the spec that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase is Pending, Running, Completed or Failed.
	// +optional
	Phase BackupPhase `json:"phase,omitempty"`
	// StartedAt is the time at which the Job began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// StoppedAt is the time at which the Job ended.
	// +optional
	StoppedAt *metav1.Time `json:"stoppedAt,omitempty"`
	// Destination is the folder, or bucket and prefix, with the Backend's backups.
	// +optional
	Destination string `json:"destination,omitempty"`
	// Error of a backup that failed: the last line of the program's output.
	// +optional
	Error string `json:"error,omitempty"`
	// Conditions are Ready, and Reconciling or Stalled while that is not true.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BackupList is a list of Backups.
//
// +kubebuilder:object:root=true
type BackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Backup `json:"items"`
}
