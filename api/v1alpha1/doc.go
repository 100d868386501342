// Package v1alpha1 holds the Kubernetes resources of Acclaim: what an extension
// is, which polls should exist, and which backends serve them. The markers on
// the types become the schemas in config/crd; `make generate` writes them.
//
// It may not know how any of it is brought about: package operator does that.
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

// AddToScheme makes the resources known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	version := schema.GroupVersion{Group: Group, Version: Version}
	scheme.AddKnownTypes(version,
		&Poll{}, &PollList{},
		&Extension{}, &ExtensionList{},
		&Backend{}, &BackendList{},
	)
	metav1.AddToGroupVersion(scheme, version)
	return nil
}
