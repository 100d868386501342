package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// attackerFiles is the number of descriptors that the largest attack needs.
const attackerFiles = 6_000

// checkMachine returns an error if this process could not open as many connections
// as the attacks need.
func checkMachine() error {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return err
	}
	if files.Max < attackerFiles {
		return fmt.Errorf("the attacks need %d open files, the limit (ulimit -Hn) is %d", attackerFiles, files.Max)
	}
	return nil
}

// checkMounts returns an error if a process of ours cannot mount a small disk.
func checkMounts(ctx context.Context, dir string) error {
	command := exec.CommandContext(ctx, "sh", "-c", `mount -t tmpfs -o size=1m tmpfs "$0"`, dir)
	command.SysProcAttr = ownMounts()
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("mount a small disk: %w: %s", err, out)
	}
	return nil
}

// ownMounts lets a process mount file systems that no other process sees, even
// without being root.
func ownMounts() *syscall.SysProcAttr {
	if os.Geteuid() == 0 {
		return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	}
	mapID := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
	}
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: mapID(os.Geteuid()), GidMappings: mapID(os.Getegid())}
}
