package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/hack/envtest/assets"
)

// cluster is one that is to be started, or that runs.
type cluster struct {
	place
	report  *report
	Source  string   // folder of the checkout that it is from
	Path    []string // folders of programs
	Images  []string // archives that every node has
	Plugins string   // folder of network plugins, one of Path
	Gateway string   // folder of the Gateway API's resource definitions
}

const clusterFile = "cluster.json"

// prepareCluster returns a cluster that can be started: it builds what is not there.
func prepareCluster(cmd *cobra.Command) (*cluster, error) {
	ctx := cmd.Context()
	if err := checkPackages(ctx); err != nil {
		return nil, err
	}
	here, err := thisPlace(ctx)
	if err != nil {
		return nil, err
	}
	c := &cluster{place: here, report: newReport(cmd.ErrOrStderr())}
	servers, err := assets.Find(ctx, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	c.Path = []string{servers}
	if c.Source, err = checkout(ctx); err != nil {
		return nil, err
	}
	b, err := newBuilder(c.Source, c.report)
	if err != nil {
		return nil, err
	}
	var packed []string
	for _, component := range components() {
		folder, err := b.buildComponent(ctx, component)
		if err != nil {
			return nil, err
		}
		c.Path = append(c.Path, folder)
		if component.image {
			packed = append(packed, filepath.Join(folder, component.name))
		}
		if component.name == "cni" {
			c.Plugins = folder
		}
	}
	if c.Gateway, err = b.findGatewayAPI(ctx); err != nil {
		return nil, err
	}
	c.Images, err = b.packImages(ctx, packed)
	return c, err
}

// findCluster returns the cluster that is up.
func findCluster(cmd *cobra.Command) (*cluster, error) {
	here, err := thisPlace(cmd.Context())
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(here.state, clusterFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no cluster %s; `make cluster-up` starts one", here.name)
	}
	if err != nil {
		return nil, err
	}
	c := &cluster{place: here, report: newReport(cmd.ErrOrStderr())}
	return c, json.Unmarshal(content, c)
}

// checkOwner returns an error if the cluster of this name is from another checkout.
func (c *cluster) checkOwner() error {
	content, err := os.ReadFile(filepath.Join(c.state, clusterFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var other cluster
	if err := errors.Join(err, json.Unmarshal(content, &other)); err != nil {
		return err
	}
	if other.Source != c.Source {
		return fmt.Errorf("the cluster %s is from %s: choose another name, or take it down by `make cluster-down CLUSTER=%s`", c.name, other.Source, c.name)
	}
	return nil
}

// up starts the cluster in place of the one of its name that there may be, or what is
// left of it.
func (c *cluster) up(ctx context.Context, nodes int) error {
	if err := c.checkOwner(); err != nil {
		return err
	}
	if err := c.takeDown(ctx, c.report); err != nil {
		return err
	}
	if err := os.MkdirAll(c.state, 0o755); err != nil {
		return err
	}
	content, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.state, clusterFile), content, 0o600); err != nil {
		return err
	}
	if err := c.issueCertificates(nodes); err != nil {
		return err
	}
	if err := c.connectNodes(ctx, nodes); err != nil {
		return err
	}
	for _, step := range []func(context.Context, int) error{c.startControl, c.startNodes, c.deploy} {
		if err := step(ctx, nodes); err != nil {
			return fmt.Errorf("%w\nlogs are in %s", err, filepath.Join(c.state, "machines"))
		}
	}
	c.report.logf("the cluster %s is up. Its API, and the ingress at http://%s:%d, are reached from its own network:\n"+
		"          go run ./hack/cluster run kubectl get nodes", c.name, nodeAddress(1), ingressPort)
	return nil
}

// The ports of every node at which the ingress controller and the Gateway answer.
const (
	ingressPort = 30080
	gatewayPort = 30081
)

func (c *cluster) startControl(ctx context.Context, nodes int) error {
	if err := c.controlPlane(nodes).writeFile(c.state); err != nil {
		return err
	}
	if err := start(c.state, control); err != nil {
		return err
	}
	if err := c.kubectlEventually(ctx, "get", "--raw=/readyz"); err != nil {
		return err
	}
	c.report.logf("the API server is ready")
	return nil
}

func (c *cluster) startNodes(ctx context.Context, nodes int) error {
	for i := 1; i <= nodes; i++ {
		m, err := c.newNode(i)
		if err != nil {
			return err
		}
		if err := m.writeFile(c.state); err != nil {
			return err
		}
		if err := start(c.state, m.Name); err != nil {
			return err
		}
	}
	if err := c.loadImages(ctx, c.Images); err != nil {
		return err
	}
	for i := 1; i <= nodes; i++ {
		if err := c.kubectlEventually(ctx, "wait", "--for=condition=Ready", "--timeout=60s", "node/"+nodeName(i)); err != nil {
			return err
		}
	}
	c.report.logf("nodes are ready: %d", nodes)
	return nil
}

// deploy starts what runs in pods and waits for it, and for the firewalls, which need
// the rights that come with it.
func (c *cluster) deploy(ctx context.Context, nodes int) error {
	folder := filepath.Join(c.state, "manifests")
	if err := renderTemplates("manifests", folder, manifestValues{DNS: dnsService, Ingress: ingressPort, Gateway: gatewayPort}); err != nil {
		return err
	}
	for _, command := range [][]string{
		{"apply", "--server-side", "-f", c.Gateway},
		{"wait", "--for=condition=Established", "--timeout=60s", "crd/gatewayclasses.gateway.networking.k8s.io"},
		{"apply", "-f", folder},
	} {
		if _, err := c.kubectl(ctx, command...); err != nil {
			return err
		}
	}
	for _, workload := range []string{"daemonset/coredns", "daemonset/skipper", "deployment/metrics-server", "deployment/traefik"} {
		if _, err := c.kubectl(ctx, "-n", "kube-system", "rollout", "status", workload, "--timeout=120s"); err != nil {
			return err
		}
		c.report.logf("%s is ready", filepath.Base(workload))
	}
	for i := 1; i <= nodes; i++ {
		_, err := retryUntilDone(ctx, func() (string, error) {
			return runCommand(ctx, "", "nsenter", "--net="+c.namespacePath(nodeName(i)), "iptables", "--list-rules", "KUBE-NWPLCY-DEFAULT")
		})
		if err != nil {
			return fmt.Errorf("%s enforces no network policies: %w", nodeName(i), err)
		}
	}
	c.report.logf("network policies are enforced")
	return nil
}
