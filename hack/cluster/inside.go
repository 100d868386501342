package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"
)

// loadImages loads archives into every node, once containerd answers there.
func (c *cluster) loadImages(ctx context.Context, archives []string) error {
	names, err := c.machines()
	if err != nil {
		return err
	}
	nodes, ctx := errgroup.WithContext(ctx)
	for _, name := range names {
		if name == control {
			continue
		}
		nodes.Go(func() error {
			for _, archive := range archives {
				if err := c.loadInto(ctx, name, archive); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return nodes.Wait()
}

func (c *cluster) loadInto(ctx context.Context, name, archive string) error {
	if _, err := os.Stat(archive); err != nil {
		return err
	}
	_, err := retryUntilDone(ctx, func() (string, error) {
		pids, err := c.machineProcesses(ctx, name)
		if err != nil || len(pids) == 0 {
			return "", fmt.Errorf("%s does not run: %w", name, err)
		}
		// The node may not see the file, but can read what is open.
		content, err := os.Open(archive)
		if err != nil {
			return "", err
		}
		defer func() { _ = content.Close() }()
		command := exec.CommandContext(ctx, "nsenter", fmt.Sprintf("--target=%d", pids[0]), "--mount",
			c.findProgram("ctr"), "--namespace=k8s.io", "images", "import", "--local", "-")
		command.Stdin = content
		return commandOutput(command)
	})
	return err
}

// kubectlEventually asks kubectl until it succeeds.
func (c *cluster) kubectlEventually(ctx context.Context, arguments ...string) error {
	_, err := retryUntilDone(ctx, func() (string, error) { return c.kubectl(ctx, arguments...) })
	return err
}

// retryUntilDone does something until it succeeds, for two minutes at most.
func retryUntilDone(ctx context.Context, do backoff.Operation[string]) (string, error) {
	return backoff.Retry(ctx, do, backoff.WithBackOff(backoff.NewConstantBackOff(200*time.Millisecond)), backoff.WithMaxElapsedTime(2*time.Minute))
}

func (c *cluster) kubectl(ctx context.Context, arguments ...string) (string, error) {
	arguments = append([]string{"--net=" + c.namespacePath(control), c.findProgram("kubectl"), "--kubeconfig=" + c.certificatePath("admin.kubeconfig")}, arguments...)
	return runCommand(ctx, "", "nsenter", arguments...)
}

// replaceProcess turns this process into a command in the cluster's network.
func (c *cluster) replaceProcess(command []string) error {
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return err
	}
	environment := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "PATH=") || strings.HasPrefix(variable, "KUBECONFIG=") || strings.HasPrefix(variable, nameVariable+"=")
	})
	environment = append(environment,
		"PATH="+strings.Join(append(c.Path, os.Getenv("PATH")), ":"),
		"KUBECONFIG="+c.certificatePath("admin.kubeconfig"),
		nameVariable+"="+c.name) // for a command that stops a node of it
	return syscall.Exec(nsenter, append([]string{nsenter, "--net=" + c.namespacePath(control)}, command...), environment)
}

// findProgram returns the file of one of our programs.
func (c *cluster) findProgram(program string) string {
	for _, folder := range c.Path {
		file := filepath.Join(folder, program)
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return program // running it reports that it is missing
}
