package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/hack/child"
)

// startTimeout limits the time until a program is ready.
const startTimeout = 5 * time.Minute

// program is a server under measurement, a process of its own.
type program struct {
	*child.Process
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
	process, err := child.StartProgram(ctx, command, startTimeout)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", filepath.Base(binary), args[0], err) // flags may hold secrets
	}
	return &program{process, process.Host, &client{base: process.Base, admin: process.Admin, credential: backend}}, nil
}

func (p *program) stop() error { return p.Stop() }

// cpuTime returns the processor time the program has used, in steps of 10 ms; 0
// where the system has no /proc.
func (p *program) cpuTime() time.Duration {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.Command.Process.Pid), "stat"))
	if err != nil {
		return 0
	}
	return parseCPU(string(stat))
}

// parseCPU adds up utime and stime, fields 14 and 15 of proc(5), in USER_HZ.
func parseCPU(stat string) time.Duration {
	const tick = time.Second / 100
	// The name before may hold anything, closing brackets too.
	fields := strings.Fields(stat[strings.LastIndex(stat, ") ")+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)   // the kernel writes
	system, _ := strconv.ParseInt(fields[12], 10, 64) // numbers only
	return time.Duration(user+system) * tick
}
