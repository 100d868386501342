package main

import (
	"fmt"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// release is a Helm release with an operator, and a client of its cluster.
type release struct {
	client.Client
	namespace, name string
}

// openRelease returns the release that NAMESPACE/RELEASE names.
func openRelease(target string) (release, error) {
	namespace, name, ok := strings.Cut(target, "/")
	if !ok {
		return release{}, fmt.Errorf("%q is not NAMESPACE/RELEASE, as in acclaim-system/acclaim", target)
	}
	scheme, err := newScheme()
	if err != nil {
		return release{}, err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return release{}, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	return release{c, namespace, name}, err
}
