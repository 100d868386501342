package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// The cluster's own addresses. They exist in its network namespaces alone, so
// they do not conflict with others.
const (
	controlAddress = "10.199.0.1"
	podNetwork     = "10.244.0.0/16"
	podRange       = "10.244.%d.0/24"
	serviceNetwork = "10.96.0.0/16"
	firstService   = "10.96.0.1" // the API server's, by Kubernetes' rule
	dnsService     = "10.96.0.10"

	registryAddress = controlAddress + ":5000" // of a registry that a test runs
)

// maxNodes limits the nodes; more would share the same few processors.
const maxNodes = 9

// control is the machine of the control plane.
const control = "control"

// namespaces is the folder in which the kernel shows network namespaces by name.
const namespaces = "/run/netns"

func nodeName(number int) string    { return fmt.Sprintf("node-%d", number) }
func nodeAddress(number int) string { return fmt.Sprintf("10.199.0.%d", 10+number) }

// connectNodes makes the networks of the machines: a bridge in that of the control
// plane, with a cable to each node, and a route to the pods of each.
func (p place) connectNodes(ctx context.Context, nodes int) error {
	center := p.group(control)
	commands := []string{
		"netns add " + center,
		fmt.Sprintf("-n %s link set lo up", center),
		fmt.Sprintf("-n %s link add nodes type bridge", center),
		fmt.Sprintf("-n %s addr add %s/24 dev nodes", center, controlAddress),
		fmt.Sprintf("-n %s link set nodes up", center),
	}
	for i := 1; i <= nodes; i++ {
		commands = append(commands, append(p.nodeNetwork(i, nodes), fmt.Sprintf("-n %s %s", center, podRoute(i)))...)
	}
	return runInNetwork(ctx, commands)
}

// nodeNetwork returns the commands that make the network of a node.
func (p place) nodeNetwork(number, nodes int) []string {
	name := nodeName(number)
	center, namespace := p.group(control), p.group(name)
	commands := []string{
		"netns add " + namespace,
		fmt.Sprintf("-n %s link set lo up", namespace),
		fmt.Sprintf("-n %s link add %s type veth peer name eth0 netns %s", center, name, namespace),
		fmt.Sprintf("-n %s link set %s master nodes up", center, name),
		fmt.Sprintf("-n %s addr add %s/24 dev eth0", namespace, nodeAddress(number)),
		fmt.Sprintf("-n %s link set eth0 up", namespace),
		// Services have addresses of no network; kube-proxy translates them, but only
		// once the kernel has found a route.
		fmt.Sprintf("-n %s route add default via %s", namespace, controlAddress),
	}
	for other := 1; other <= nodes; other++ {
		if other != number {
			commands = append(commands, fmt.Sprintf("-n %s %s", namespace, podRoute(other)))
		}
	}
	return commands
}

// podRoute returns the route to the pods of a node.
func podRoute(number int) string {
	return fmt.Sprintf("route add "+podRange+" via %s", number, nodeAddress(number))
}

// unplugNode takes the cable of a node away.
func (p place) unplugNode(ctx context.Context, node string) error {
	return runInNetwork(ctx, []string{fmt.Sprintf("-n %s link del %s", p.group(control), node)})
}

// reconnectNode gives a node that lost its power a new network: of the one before, it
// would know neighbours that are no more.
func (p place) reconnectNode(ctx context.Context, node string) error {
	names, err := p.machines()
	if err != nil {
		return err
	}
	if running, err := p.machineProcesses(ctx, node); err != nil || len(running) > 0 {
		return errors.Join(err, fmt.Errorf("%s runs", node))
	}
	for number := range names { // the control plane is one of them
		if nodeName(number) == node {
			return runInNetwork(ctx, append([]string{"netns del " + p.group(node)}, p.nodeNetwork(number, len(names)-1)...))
		}
	}
	return fmt.Errorf("there is no node %s", node)
}

func runInNetwork(ctx context.Context, commands []string) error {
	for _, command := range commands {
		if _, err := runCommand(ctx, "", "ip", strings.Fields(command)...); err != nil {
			return err
		}
	}
	return nil
}
