// Package v1alpha1 holds the Kubernetes resources of Acclaim: extensions, polls, the
// backends that serve them, and the backups of these. `make generate` writes the schemas in config/crd
// from the markers on the types.
//
// It knows nothing of how the operator implements them.
//
// +kubebuilder:object:generate=true
// +groupName=acclaim.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group and version of the resources.
const (
	Group   = "acclaim.dev"
	Version = "v1alpha1"
)

// OperatorAnnotation names the operator that looks after an object,
// NAMESPACE/RELEASE. Other operators leave the object alone.
const OperatorAnnotation = "acclaim.dev/operator"

// ReasonNotWatched is the reason of Ready, which is unknown, while the operator that holds the
// object does not watch its namespace.
const ReasonNotWatched = "NamespaceNotWatched"

// ReasonOperatorRemoved is the reason of Ready after the operator that held the object
// was uninstalled; its status is Unknown.
const ReasonOperatorRemoved = "OperatorRemoved"

// ReasonOperatorAway is the reason of Ready while the operator that holds an object has not
// renewed its lease for minutes; its status is Unknown.
const ReasonOperatorAway = "OperatorAway"

// ReasonHeldByAnother is the reason of an Event about an object that another operator
// holds, and of Ready where this cluster has no such operator; its status is Unknown.
const ReasonHeldByAnother = "HeldByAnother"

// AddToScheme registers the resources with a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	version := schema.GroupVersion{Group: Group, Version: Version}
	scheme.AddKnownTypes(version,
		&Poll{}, &PollList{},
		&Extension{}, &ExtensionList{},
		&Backend{}, &BackendList{},
		&Backup{}, &BackupList{},
		&ScheduledBackup{}, &ScheduledBackupList{},
	)
	metav1.AddToGroupVersion(scheme, version)
	return nil
}

// PausedAnnotation makes the operator leave an object as it is, while the value is "true"
// and the object is not deleted.
const PausedAnnotation = "acclaim.dev/paused"

// ProtectedAnnotation makes the API server refuse to delete an object while the value is
// "true", where the policy of the chart or of config is installed.
const ProtectedAnnotation = "acclaim.dev/protected"
