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

// cpuTime returns the processor time the program has used, in steps of 10 ms; 0
// where the system has no /proc.
func (p *program) cpuTime() time.Duration {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.Command.Process.Pid), "stat"))
	if err != nil {
		return 0
	}
	_, spent := parseProcess(string(stat))
	return spent
}

// treeTime returns the processor time of the program and its children.
func (p *program) treeTime() time.Duration { return treeTime(p.Command.Process.Pid) }

// treeTime returns the processor time that a process, its children and theirs have used; 0
// where the system has no /proc.
func treeTime(root int) time.Duration {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	used, children := map[int]time.Duration{}, map[int][]int{}
	for _, file := range stats {
		process, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		stat, gone := os.ReadFile(file)
		if err != nil || gone != nil {
			continue
		}
		parent, spent := parseProcess(string(stat))
		used[process], children[parent] = spent, append(children[parent], process)
	}
	var sum time.Duration
	for tree := []int{root}; len(tree) > 0; {
		process := tree[0]
		sum += used[process]
		tree = append(tree[1:], children[process]...)
	}
	return sum
}

// parseProcess returns the parent of a process, field 4 of proc(5), and the processor time of
// the process and of its children that have ended, fields 14 to 17 in USER_HZ.
func parseProcess(stat string) (parent int, spent time.Duration) {
	const tick = time.Second / 100
	// The name before may hold anything, closing brackets too.
	fields := strings.Fields(stat[strings.LastIndex(stat, ") ")+1:])
	if len(fields) < 15 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(fields[1]) // the kernel writes numbers only
	for _, field := range fields[11:15] {
		ticks, _ := strconv.ParseInt(field, 10, 64)
		spent += time.Duration(ticks) * tick
	}
	return parent, spent
}
