// Command cluster runs a real Kubernetes cluster on one Linux machine that has Go
// and a few Debian packages, without a container registry: everything is built
// once, from the Go modules that tools pins, into the user's cache.
//
//	go run ./hack/cluster up --nodes 3
//	go run ./hack/cluster load bin/acclaim-image.tar
//	go run ./hack/cluster run kubectl get pods --all-namespaces
//	go run ./hack/cluster down
//
// Each node, and the control plane, has a network, mount, process and host name
// of its own, and a program of ours as its process 1; when that ends, so does all
// else there. The network of the machine is not touched, and the network of the
// cluster has no way out. The names of the network namespaces are all that a
// later run needs to take down what an earlier one left.
//
// Each checkout has a cluster of its own; ACCLAIM_CLUSTER names another one. Clusters run
// side by side, and no command changes one that it is not about.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{Use: "cluster", Short: "Run a Kubernetes cluster on this machine", SilenceUsage: true}
	root.AddCommand(newUp(), newDown(), newBuild(), newAddOns(), newLoad(), newRun(), newStop(), newStart(), newPause(), newResume(), newMachine())
	if err := root.ExecuteContext(ctx); err != nil {
		os.Exit(1) // cobra has printed it
	}
}

func newUp() *cobra.Command {
	var nodes int
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster, in place of the one of its name that there may be",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if nodes < 1 || nodes > maxNodes {
				return fmt.Errorf("--nodes must be 1 to %d", maxNodes)
			}
			if os.Geteuid() != 0 {
				return errors.New("network namespaces and containers need root")
			}
			c, err := prepareCluster(cmd)
			if err != nil {
				return err
			}
			return c.up(cmd.Context(), nodes)
		},
	}
	cmd.Flags().IntVar(&nodes, "nodes", 1, "how many nodes")
	return cmd
}

func newDown() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the cluster and remove all that was its own",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			here, err := thisPlace(cmd.Context())
			if err != nil {
				return err
			}
			return here.takeDown(cmd.Context(), newReport(cmd.ErrOrStderr()))
		},
	}
}

func newBuild() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build what a cluster needs and say where it is; needs no root",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := prepareCluster(cmd)
			if err != nil {
				return err
			}
			for _, folder := range c.Path {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), folder); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func newLoad() *cobra.Command {
	return &cobra.Command{
		Use:   "load IMAGE...",
		Short: "Load images into every node, from docker-archives or OCI archives",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := findCluster(cmd)
			if err != nil {
				return err
			}
			return c.loadImages(cmd.Context(), args)
		},
	}
}

func newRun() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run COMMAND [ARGUMENT...]",
		Short: "Run a command in the network of the cluster, with KUBECONFIG set and kubectl, helm and ctr in PATH",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := findCluster(cmd)
			if err != nil {
				return err
			}
			return c.replaceProcess(args)
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the command is the command's
	return cmd
}

func newStop() *cobra.Command {
	return &cobra.Command{
		Use:   "stop NODE",
		Short: "Lose a node, as by a power cut",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			here, err := thisPlace(cmd.Context())
			if err != nil {
				return err
			}
			// The cable first: killed programs would otherwise still close their
			// connections.
			if err := here.unplugNode(cmd.Context(), args[0]); err != nil {
				return err
			}
			return here.killMachine(cmd.Context(), args[0])
		},
	}
}

func newStart() *cobra.Command {
	return &cobra.Command{
		Use:   "start NODE",
		Short: "Start a node that was stopped",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			here, err := thisPlace(cmd.Context())
			if err != nil {
				return err
			}
			if err := here.reconnectNode(cmd.Context(), args[0]); err != nil {
				return err
			}
			return start(here.state, args[0])
		},
	}
}

func newPause() *cobra.Command {
	return newSignal("pause PROGRAM", "Have a program of the control plane answer nothing, such as kube-apiserver", syscall.SIGSTOP)
}

func newResume() *cobra.Command {
	return newSignal("resume PROGRAM", "Let a program that was paused go on", syscall.SIGCONT)
}

func newSignal(use, short string, signal syscall.Signal) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			here, err := thisPlace(cmd.Context())
			if err != nil {
				return err
			}
			return here.signalProgram(cmd.Context(), control, args[0], signal)
		},
	}
}

// newMachine is the process 1 of a machine; only start runs it.
func newMachine() *cobra.Command {
	return &cobra.Command{
		Use:    "machine FILE",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return runMachine(args[0])
		},
	}
}
