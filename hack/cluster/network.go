package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// The cluster's own addresses. They exist in its network namespaces alone, so
// they meet nobody else's.
const (
	controlAddress = "10.199.0.1"
	podNetwork     = "10.244.0.0/16"
	podRange       = "10.244.%d.0/24"
	serviceNetwork = "10.96.0.0/16"
	firstService   = "10.96.0.1" // the API server's, by Kubernetes' rule
	dnsService     = "10.96.0.10"
)

// maxNodes is how many nodes there are at most; more would share the same few
// processors.
const maxNodes = 9

// prefix is what the names of all that is ours in the machine begin with: network
// namespaces and control groups.
const prefix = "acclaim-"

// control is the machine of the control plane.
const control = "control"

// namespaces is where the kernel shows network namespaces by their name.
const namespaces = "/run/netns"

func nodeName(number int) string    { return fmt.Sprintf("node-%d", number) }
func nodeAddress(number int) string { return fmt.Sprintf("10.199.0.%d", 10+number) }
func namespacePath(machine string) string {
	return namespaces + "/" + prefix + machine
}

// connect makes the networks of the machines: a bridge in that of the control
// plane, with a cable to each node, and a route to the pods of each.
func connect(ctx context.Context, nodes int) error {
	commands := []string{
		"netns add acclaim-control",
		"-n acclaim-control link set lo up",
		"-n acclaim-control link add nodes type bridge",
		fmt.Sprintf("-n acclaim-control addr add %s/24 dev nodes", controlAddress),
		"-n acclaim-control link set nodes up",
	}
	for i := 1; i <= nodes; i++ {
		namespace := prefix + nodeName(i)
		commands = append(commands,
			"netns add "+namespace,
			fmt.Sprintf("-n %s link set lo up", namespace),
			fmt.Sprintf("-n acclaim-control link add node-%d type veth peer name eth0 netns %s", i, namespace),
			fmt.Sprintf("-n acclaim-control link set node-%d master nodes up", i),
			fmt.Sprintf("-n %s addr add %s/24 dev eth0", namespace, nodeAddress(i)),
			fmt.Sprintf("-n %s link set eth0 up", namespace),
			// Services have addresses of no network; kube-proxy translates them, but only
			// once the kernel has found a route.
			fmt.Sprintf("-n %s route add default via %s", namespace, controlAddress),
		)
	}
	for i := 1; i <= nodes; i++ {
		route := fmt.Sprintf("route add "+podRange+" via %s", i, nodeAddress(i))
		commands = append(commands, "-n acclaim-control "+route)
		for other := 1; other <= nodes; other++ {
			if other != i {
				commands = append(commands, fmt.Sprintf("-n %s%s %s", prefix, nodeName(other), route))
			}
		}
	}
	for _, command := range commands {
		if _, err := output(ctx, "", "ip", strings.Fields(command)...); err != nil {
			return err
		}
	}
	return nil
}

// plug puts the cable of a node into the bridge ("up"), or pulls it ("down").
func plug(ctx context.Context, node, state string) error {
	_, err := output(ctx, "", "ip", "-n", prefix+control, "link", "set", node, state)
	return err
}

// machines returns the names of the machines whose network there is.
func machines() ([]string, error) {
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
