package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ScheduledBackup declares backups of what a Backend has stored by a schedule, checks of it
// by another, and drills that restore a backup by a third. The operator makes a CronJob of
// each, so that they go on while it is away.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=sbak,categories=acclaim
// +kubebuilder:printcolumn:name="Backend",type=string,JSONPath=`.spec.backendRef.name`
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="Suspended",type=boolean,priority=1,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="Last Backup",type=date,JSONPath=`.status.lastBackup`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Degraded",type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,43}[a-z0-9])?$')",message="the name is part of the names of CronJobs: at most 45 lower-case letters, digits and '-', none of them '-' at either end",fieldPath=".metadata"
type ScheduledBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ScheduledBackupSpec `json:"spec"`
	// Status is the observed state. Until an operator has seen the object, its generation
	// is -1, which tools that know kstatus wait for to change.
	// +kubebuilder:default:={"observedGeneration":-1}
	Status ScheduledBackupStatus `json:"status,omitempty"`
}

// ScheduledBackupSpec declares which store is backed up, when, and where to.
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) == has(self.where)",message="schedule and where belong together: when backups are made, and where they go"
// +kubebuilder:validation:XValidation:rule="!has(self.drill) || has(self.where)",message="a drill restores what is in where: set schedule and where, too"
// +kubebuilder:validation:XValidation:rule="has(self.schedule) || has(self.verify)",message="a ScheduledBackup has schedule and where, or verify, or all of them"
type ScheduledBackupSpec struct {
	// BackendRef names the Backend, of the same namespace.
	BackendRef ObjectReference `json:"backendRef"`
	// Schedule of the backups, as cron writes it. Without one there is only verify.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ')",message="the time zone is in timeZone, not in schedule"
	Schedule string `json:"schedule,omitempty"`
	// TimeZone of the schedules.
	// +kubebuilder:default=Etc/UTC
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// Suspend makes no more backups, checks and drills.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// Where the backups go.
	// +optional
	Where *BackupPlace `json:"where,omitempty"`
	// Keep is the number of backups to keep there.
	// +kubebuilder:default=7
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Keep int32 `json:"keep,omitempty"`
	// Pod declares the pods that write backups, and those of drills; their deadline is 6
	// hours by default.
	// +optional
	Pod TaskPod `json:"pod,omitempty"`
	// Drill restores the newest backup by a schedule of its own, into an empty store in the
	// pod, and checks all that it restored. It reads and changes nothing that serves.
	// +optional
	Drill *Drill `json:"drill,omitempty"`
	// Verify checks everything that the Backend has stored by a schedule of its own, as
	// `acclaim verify` does.
	// +optional
	Verify *Verification `json:"verify,omitempty"`
}

// Drill declares restores of the newest backup that are thrown away.
type Drill struct {
	// Schedule of the drills, as cron writes it. What a drill restores needs room on the
	// node, which pod.resources can request as ephemeral-storage.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ')",message="the time zone is in timeZone, not in schedule"
	Schedule string `json:"schedule"`
}

// Verification declares checks of what is stored.
type Verification struct {
	// Schedule of the checks, as cron writes it. A check reads the whole database.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ')",message="the time zone is in timeZone, not in schedule"
	Schedule string `json:"schedule"`
	// TimeZone of the checks; by default that of the backups.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// Pod declares the pods that check; their deadline is 12 hours by default.
	// +optional
	Pod TaskPod `json:"pod,omitempty"`
}

// ScheduledBackupStatus is the observed state of a ScheduledBackup.
type ScheduledBackupStatus struct {
	// ObservedGeneration is the generation of the spec that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Destination is the folder, or bucket and prefix, with the Backend's backups.
	// +optional
	Destination string `json:"destination,omitempty"`
	// LastBackup is the time at which a backup last ended well.
	// +optional
	LastBackup *metav1.Time `json:"lastBackup,omitempty"`
	// LastVerification is the time at which a check last ended without a problem.
	// +optional
	LastVerification *metav1.Time `json:"lastVerification,omitempty"`
	// LastDrill is the time at which a backup was last restored without a problem.
	// +optional
	LastDrill *metav1.Time `json:"lastDrill,omitempty"`
	// Conditions are Ready, with Reconciling or Stalled while that is not true, and Degraded.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ScheduledBackupList is a list of ScheduledBackups.
//
// +kubebuilder:object:root=true
type ScheduledBackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ScheduledBackup `json:"items"`
}
