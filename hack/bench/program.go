package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// startTimeout limits the time until a program is ready.
const startTimeout = 5 * time.Minute

// program is a server under measurement, a process of its own.
type program struct {
	*harness.Process
	address string // host:port of the API
	client  *client
}

// startProcess runs a subcommand of the binary, with env added to its environment, and
// waits until it is ready. Its log is thrown away, by the system and not by us,
// which costs all programs the same.
func startProcess(ctx context.Context, env []string, binary, subcommand, registry, data string, flags ...string) (*program, error) {
	args := append([]string{subcommand, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--extensions", registry, "--data-dir", data}, flags...)
	return startCommand(ctx, env, binary, args...)
}

// startCommand starts a program that prints the ready line and waits for it.
func startCommand(ctx context.Context, env []string, binary string, args ...string) (*program, error) {
	backend, err := newCredential("backend", channel, "")
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, binary, args...)
	command.Env = slices.Concat(os.Environ(), env)
	process, err := harness.StartProgram(ctx, command, startTimeout)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", filepath.Base(binary), args[0], err) // flags may hold secrets
	}
	return &program{process, process.Host, &client{base: process.Base, admin: process.Admin, credential: backend}}, nil
}

func (p *program) stop() error { return p.Stop() }

// cpuTime returns the processor time that the program and its children have used.
func (p *program) cpuTime() time.Duration { return harness.TreeTime(p.Command.Process.Pid) }
