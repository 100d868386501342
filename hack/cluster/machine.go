package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// machine describes the control plane or a node to its process 1.
type machine struct {
	Name     string
	Group    string    // name of its network namespace and control group
	Folder   string    // where its logs are and, of a node, what it stores
	Node     bool      // pods run here
	Programs []program // that must always run
}

// program is one that a machine runs.
type program struct {
	Name      string
	Arguments []string // the first is the executable's path
	Path      string   // where it finds other executables
}

func machineFolder(state, name string) string {
	return filepath.Join(state, "machines", name)
}

// machineFile returns the file that has all that a machine needs to start, and to
// start again.
func machineFile(state, name string) string {
	return machineFolder(state, name) + ".json"
}

func (m machine) writeFile(state string) error {
	if err := os.MkdirAll(m.Folder, 0o755); err != nil {
		return err
	}
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(machineFile(state, m.Name), content, 0o600)
}

func readMachine(file string) (machine, error) {
	var m machine
	content, err := os.ReadFile(file)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(content, &m)
}

// machineProcesses returns the processes of a machine. They are those in its network
// that have a process namespace of their own, which excludes other commands run
// in that network.
func (p place) machineProcesses(ctx context.Context, name string) ([]int, error) {
	listed, err := runCommand(ctx, "", "ip", "netns", "pids", p.group(name))
	if err != nil {
		return nil, err
	}
	var pids []int
	for field := range strings.FieldsSeq(listed) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		status, err := os.ReadFile(filepath.Join("/proc", field, "status"))
		if err == nil && namespaceDepth(string(status)) > 1 {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// signalProgram sends a signal to a program of a machine.
func (p place) signalProgram(ctx context.Context, machine, program string, signal syscall.Signal) error {
	pids, err := p.machineProcesses(ctx, machine)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		executable, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err == nil && filepath.Base(executable) == program {
			return syscall.Kill(pid, signal)
		}
	}
	return fmt.Errorf("%s runs no %s", machine, program)
}

// namespaceDepth returns how many process namespaces a process is in, seen from ours,
// given its status file.
func namespaceDepth(status string) int {
	for line := range strings.Lines(status) {
		if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			return len(strings.Fields(ids))
		}
	}
	return 0
}

// killMachine ends all processes of a machine at once and returns when they and their
// control groups are gone. An API server without its etcd would take a minute to
// end by itself.
func (p place) killMachine(ctx context.Context, name string) error {
	gone := func() (struct{}, error) {
		pids, err := p.machineProcesses(ctx, name)
		if err != nil {
			return struct{}{}, backoff.Permanent(err)
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return struct{}{}, backoff.Permanent(err)
			}
		}
		if len(pids) > 0 {
			return struct{}{}, fmt.Errorf("%s still has processes %v", name, pids)
		}
		return struct{}{}, removeControlGroups(controlGroups, p.group(name))
	}
	_, err := backoff.Retry(ctx, gone, backoff.WithBackOff(backoff.NewConstantBackOff(100*time.Millisecond)), backoff.WithMaxElapsedTime(20*time.Second))
	return err
}

// takeDown ends every machine and removes what was the cluster's: networks, control
// groups and the state folder. What is not there is not an error, so it also
// clears up what a run left that was cut short. Clusters of other names stay.
func (p place) takeDown(ctx context.Context, r *report) error {
	names, err := p.machines()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := p.killMachine(ctx, name); err != nil {
			return err
		}
		if _, err := runCommand(ctx, "", "ip", "netns", "del", p.group(name)); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(p.state); err != nil {
		return err
	}
	// With the first name ip mounts this folder over itself, and leaves that. Where
	// it was there before us and in use, it stays.
	if left, err := os.ReadDir(namespaces); err == nil && len(left) == 0 {
		_, _ = runCommand(ctx, "", "umount", namespaces)
		_ = os.Remove(namespaces)
	}
	if len(names) > 0 {
		r.logf("the cluster %s is down, %d machines ended", p.name, len(names))
	}
	return nil
}

// controlGroups is the folder in which the kernel shows them.
const controlGroups = "/sys/fs/cgroup"

// removeControlGroups removes those of a name: below root or, in version 1,
// below each controller.
func removeControlGroups(root, name string) error {
	var failed error
	for _, pattern := range []string{name, "*/" + name} {
		groups, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, group := range groups {
			failed = errors.Join(failed, removeFolders(group))
		}
	}
	return failed
}

// removeFolders removes a folder and those below it, innermost first. The files
// of control groups go with their folder.
func removeFolders(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeFolders(filepath.Join(folder, entry.Name())); err != nil {
				return err
			}
		}
	}
	return syscall.Rmdir(folder)
}
