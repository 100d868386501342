// Command coredns is CoreDNS with the plugins that the cluster's Corefile names. All
// of them would take in the libraries of every large cloud, and longer to build.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() {
	// In the order in which a question passes them, which is upstream's.
	if err := dnsserver.SetDirectives([]string{"ready", "health", "errors", "loadbalance", "cache", "kubernetes"}); err != nil {
		panic(err) // a name twice, or an empty one
	}
	coremain.Run()
}
