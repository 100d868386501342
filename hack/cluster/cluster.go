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
	state   string // folder
	report  *report
	Path    []string // folders of programs
	Images  []string // archives that every node has
	Plugins string   // folder of network plugins, one of Path
	Gateway string   // folder of the Gateway API's resource definitions
}

const clusterFile = "cluster.json"

func stateFolder() (string, error) {
	cache, err := cacheFolder()
	return filepath.Join(cache, "cluster"), err
}

// prepareCluster returns a cluster that can be started: it builds what is not there.
func prepareCluster(cmd *cobra.Command) (*cluster, error) {
	ctx := cmd.Context()
	if err := checkPackages(ctx); err != nil {
		return nil, err
	}
	state, err := stateFolder()
	if err != nil {
		return nil, err
	}
	c := &cluster{state: state, report: newReport(cmd.ErrOrStderr())}
	servers, err := assets.Find(ctx, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	c.Path = []string{servers}
	b, err := newBuilder(ctx, c.report)
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
	state, err := stateFolder()
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(state, clusterFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there is no cluster; `make cluster-up` starts one")
	}
	if err != nil {
		return nil, err
	}
	c := &cluster{state: state, report: newReport(cmd.ErrOrStderr())}
	return c, json.Unmarshal(content, c)
}

// up starts the cluster in place of the one there may be, or what is left of it.
func (c *cluster) up(ctx context.Context, nodes int) error {
	if err := takeDown(ctx, c.state, c.report); err != nil {
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
	if err := connectNodes(ctx, nodes); err != nil {
		return err
	}
	for _, step := range []func(context.Context, int) error{c.startControl, c.startNodes, c.deploy} {
		if err := step(ctx, nodes); err != nil {
			return fmt.Errorf("%w\nlogs are in %s", err, filepath.Join(c.state, "machines"))
		}
	}
	c.report.logf("the cluster is up. Its API, and the ingress at http://%s:%d, are reached from its own network:\n"+
		"          go run ./hack/cluster run kubectl get nodes", nodeAddress(1), ingressPort)
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

// deploy starts what runs in pods and waits for it.
func (c *cluster) deploy(ctx context.Context, _ int) error {
	folder := filepath.Join(c.state, "manifests")
	if err := c.renderTemplate("manifests", folder, manifestValues{DNS: dnsService, Ingress: ingressPort, Gateway: gatewayPort}); err != nil {
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
	return nil
}
