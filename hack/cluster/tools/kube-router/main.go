// Command kube-router is the firewall of kube-router alone, which enforces network
// policies on a node by iptables and ipset. Its router and its proxy of services, which
// the cluster has no use for, would double the time that it takes to build.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"github.com/spf13/pflag"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	config := options.NewKubeRouterConfig()
	config.AddFlags(pflag.CommandLine)
	pflag.Parse()
	if err := run(context.Background(), config); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run enforces policies until the context ends. It fails while the node is not known.
func run(ctx context.Context, config *options.KubeRouterConfig) error {
	access, err := clientcmd.BuildConfigFromFlags("", config.Kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(access)
	if err != nil {
		return err
	}
	commands, sets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return err
	}
	objects := informers.NewSharedInformerFactory(client, 0)
	pods, namespaces := objects.Core().V1().Pods().Informer(), objects.Core().V1().Namespaces().Informer()
	policies := objects.Networking().V1().NetworkPolicies().Informer()
	firewall, err := netpol.NewNetworkPolicyController(client, config, pods, policies, namespaces, &sync.Mutex{}, commands, sets)
	if err != nil {
		return err
	}
	// The cache first: a part of it would refuse connections that the whole admits.
	objects.Start(ctx.Done())
	objects.WaitForCacheSync(ctx.Done())
	for informer, handler := range map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		pods: firewall.PodEventHandler, namespaces: firewall.NamespaceEventHandler, policies: firewall.NetworkPolicyEventHandler,
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	heartbeats := make(chan *healthcheck.ControllerHeartbeat)
	go func() {
		for range heartbeats { // the firewall waits until each is received
		}
	}()
	var running sync.WaitGroup
	running.Add(1)
	firewall.Run(heartbeats, ctx.Done(), &running)
	return errors.New("the firewall has ended")
}
