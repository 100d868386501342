package main

import (
	"errors"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// session holds kubectl's own flags, which lead to a cluster.
type session struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
}

func newSession(f *pflag.FlagSet) *session {
	s := &session{rules: clientcmd.NewDefaultClientConfigLoadingRules()}
	f.StringVar(&s.rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, "", "file with the clusters and users, instead of $KUBECONFIG or ~/.kube/config")
	clientcmd.BindOverrideFlags(&s.overrides, f, clientcmd.RecommendedConfigOverrideFlags(""))
	return s
}

// cluster is a connection to a cluster.
type cluster struct {
	client.Client
	config    *rest.Config
	clientset kubernetes.Interface
	namespace string // of the flag or else the kubeconfig
}

// connect opens the cluster that the flags and the kubeconfig name.
func (s *session) connect() (*cluster, error) {
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(s.rules, &s.overrides)
	namespace, _, err := loaded.Namespace()
	if err != nil {
		return nil, err
	}
	config, err := loaded.ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 50, 100 // as kubectl
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	c := &cluster{config: config, namespace: namespace}
	if c.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	c.clientset, err = kubernetes.NewForConfig(config)
	return c, err
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
}
