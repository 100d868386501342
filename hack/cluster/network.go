package main

import (
	"context"
	"errors"
	"fmt"
	"os"
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
)

// maxNodes limits the nodes; more would share the same few processors.
const maxNodes = 9

// prefix begins the names of the cluster's network namespaces and control groups.
const prefix = "acclaim-"

// control is the machine of the control plane.
const control = "control"

// namespaces is the folder in which the kernel shows network namespaces by name.
const namespaces = "/run/netns"

func nodeName(number int) string    { return fmt.Sprintf("node-%d", number) }
func nodeAddress(number int) string { return fmt.Sprintf("10.199.0.%d", 10+number) }
func namespacePath(machine string) string {
	return namespaces + "/" + prefix + machine
}

// connectNodes makes the networks of the machines: a bridge in that of the control
// plane, with a cable to each node, and a route to the pods of each.
func connectNodes(ctx context.Context, nodes int) error {
	commands := []string{
		"netns add acclaim-control",
		"-n acclaim-control link set lo up",
		"-n acclaim-control link add nodes type bridge",
		fmt.Sprintf("-n acclaim-control addr add %s/24 dev nodes", controlAddress),
		"-n acclaim-control link set nodes up",
	}
	for i := 1; i <= nodes; i++ {
		commands = append(commands, append(nodeNetwork(i, nodes), "-n acclaim-control "+podRoute(i))...)
	}
	return runInNetwork(ctx, commands)
}

// nodeNetwork returns the commands that make the network of a node.
func nodeNetwork(number, nodes int) []string {
	name := nodeName(number)
	namespace := prefix + name
	commands := []string{
		"netns add " + namespace,
		fmt.Sprintf("-n %s link set lo up", namespace),
		fmt.Sprintf("-n acclaim-control link add %s type veth peer name eth0 netns %s", name, namespace),
		fmt.Sprintf("-n acclaim-control link set %s master nodes up", name),
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
func unplugNode(ctx context.Context, node string) error {
	return runInNetwork(ctx, []string{"-n acclaim-control link del " + node})
}

// reconnectNode gives a node that lost its power a new network: of the one before, it
// would know neighbours that are no more.
func reconnectNode(ctx context.Context, node string) error {
	names, err := listMachines()
	if err != nil {
		return err
	}
	if running, err := machineProcesses(ctx, node); err != nil || len(running) > 0 {
		return errors.Join(err, fmt.Errorf("%s runs", node))
	}
	for number := range names { // the control plane is one of them
		if nodeName(number) == node {
			return runInNetwork(ctx, append([]string{"netns del " + prefix + node}, nodeNetwork(number, len(names)-1)...))
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

// listMachines returns the names of the machines whose network there is.
func listMachines() ([]string, error) {
	entries, err := os.ReadDir(namespaces)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, entry := range entries {
		if name, ours := strings.CutPrefix(entry.Name(), prefix); ours {
			names = append(names, name)
		}
	}
	return names, err
}
