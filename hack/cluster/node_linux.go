package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// mount makes the machine's view of the file system. It begins private: nothing
// that is mounted here is seen outside, and all of it is gone with the machine.
func (m machine) mount() error {
	steps := []func() error{
		func() error { return mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE) },
		func() error { return mount("proc", "/proc", "proc", 0) },
	}
	if m.Node {
		steps = append(steps, m.mountSys, m.mountFolders, m.hideSettings, m.setNetwork, m.makeControlGroups,
			// The kubelet hands mounts on to pods.
			func() error { return mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED) })
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func mount(source, target, kind string, flags uintptr) error {
	if err := syscall.Mount(source, target, kind, flags, ""); err != nil {
		return fmt.Errorf("mount %s: %w", target, err)
	}
	return nil
}

// mountSys shows the devices of the machine's own network, with the control
// groups that the kernel has as they are.
func (m machine) mountSys() error {
	aside := filepath.Join(m.Folder, "cgroup")
	if err := os.MkdirAll(aside, 0o755); err != nil {
		return err
	}
	if err := mount(controlGroups, aside, "", syscall.MS_BIND|syscall.MS_REC); err != nil {
		return err
	}
	if err := mount("sysfs", "/sys", "sysfs", 0); err != nil {
		return err
	}
	if err := mount(aside, controlGroups, "", syscall.MS_BIND|syscall.MS_REC); err != nil {
		return err
	}
	return syscall.Unmount(aside, syscall.MNT_DETACH)
}

// mountFolders gives the machine folders of its own where the kubelet and
// containerd write; /run is empty whenever it starts.
func (m machine) mountFolders() error {
	if err := mount("tmpfs", "/run", "tmpfs", 0); err != nil {
		return err
	}
	for _, folder := range []string{"/var/lib", "/var/log"} {
		own := filepath.Join(m.Folder, folder)
		if err := os.MkdirAll(own, 0o755); err != nil {
			return err
		}
		if err := mount(own, folder, "", syscall.MS_BIND); err != nil {
			return err
		}
	}
	return nil
}

// hideSettings keeps the kubelet from changing settings of the whole machine: it
// sees files that hold what it wants already.
func (m machine) hideSettings() error {
	for name, value := range map[string]string{
		"kernel/keys/root_maxbytes": "25000000",
		"kernel/keys/root_maxkeys":  "1000000",
		"kernel/panic":              "10",
		"kernel/panic_on_oops":      "1",
		"vm/overcommit_memory":      "1",
		"vm/panic_on_oom":           "0",
	} {
		setting := filepath.Join("/proc/sys", name)
		if _, err := os.Stat(setting); errors.Is(err, os.ErrNotExist) {
			continue
		}
		hidden := filepath.Join(m.Folder, strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(hidden, []byte(value+"\n"), 0o600); err != nil {
			return err
		}
		if err := mount(hidden, setting, "", syscall.MS_BIND); err != nil {
			return err
		}
	}
	return nil
}

// setNetwork changes settings that each network has of its own.
func (m machine) setNetwork() error {
	for _, name := range []string{
		"ipv4/ip_forward",
		// Pods of a node reach one another through a bridge; so do answers of a Service
		// to a pod on its own node, which must be translated back.
		"bridge/bridge-nf-call-iptables",
	} {
		if err := os.WriteFile(filepath.Join("/proc/sys/net", name), []byte("1"), 0); err != nil {
			return fmt.Errorf("%w: load the module br_netfilter", err)
		}
	}
	return nil
}

// makeControlGroups makes the group that the kubelet keeps its pods in.
func (m machine) makeControlGroups() error {
	controllers, err := os.ReadFile(filepath.Join(controlGroups, "cgroup.controllers"))
	if errors.Is(err, os.ErrNotExist) {
		return m.makeControlGroupsV1()
	}
	if err != nil {
		return err
	}
	for controller := range strings.FieldsSeq(string(controllers)) {
		// One that others use stays.
		_ = os.WriteFile(filepath.Join(controlGroups, "cgroup.subtree_control"), []byte("+"+controller), 0)
	}
	group := filepath.Join(controlGroups, m.Group)
	if err := os.MkdirAll(group, 0o755); err != nil {
		return err
	}
	return weigh(filepath.Join(group, "cpu.weight"), 100)
}

// weigh lets the pods of a node together use the processors like as many programs
// as there are processors, as they do on a machine of their own. Otherwise all of
// them are no more than one, and starve where the rest of the machine is busy.
func weigh(file string, one int) error {
	err := os.WriteFile(file, []byte(strconv.Itoa(one*runtime.NumCPU())), 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return nil // this controller belongs to others
	}
	return err
}

// makeControlGroupsV1 makes the group of each controller. The one of processors
// starts without any, and takes them from the group above.
func (m machine) makeControlGroupsV1() error {
	controllers, err := filepath.Glob(filepath.Join(controlGroups, "*"))
	if err != nil {
		return err
	}
	for _, controller := range controllers {
		if filepath.Base(controller) == "unified" {
			continue
		}
		group := filepath.Join(controller, m.Group)
		if err := os.MkdirAll(group, 0o755); err != nil {
			return err
		}
		for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(controller, name))
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(group, name), value, 0); err != nil {
				return err
			}
		}
	}
	return weigh(filepath.Join(controlGroups, "cpu", m.Group, "cpu.shares"), 1024)
}
