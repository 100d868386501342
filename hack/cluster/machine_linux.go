package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// start starts a machine: a copy of this program as the process 1 of new
// namespaces, in the network that the machine has. It goes on when we end.
func start(state, name string) error {
	file := machineFile(state, name)
	m, err := readMachine(file)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := m.openLog("machine")
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	// The parent may wait until the files that it handed down, such as a lock, are
	// closed.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return err
	}
	command := exec.Command("nsenter", "--net="+namespaces+"/"+m.Group, self, "machine", file) //nolint:noctx // it outlives every context
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Setsid:     true,
	}
	if err := command.Start(); err != nil {
		return err
	}
	return command.Process.Release()
}

// openLog opens a log of the machine.
func (m machine) openLog(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(m.Folder, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// runMachine is the process 1 of a machine. It does not return: the kernel ends
// it, and with it all others.
func runMachine(file string) error {
	m, err := readMachine(file)
	if err != nil {
		return err
	}
	if err := syscall.Sethostname([]byte(m.Name)); err != nil {
		return err
	}
	if err := m.mount(); err != nil {
		return err
	}
	return m.supervise()
}

// supervise runs the programs, starts those that end again after a second, and
// reaps whatever ends up with process 1.
func (m machine) supervise() error {
	ended, due := make(chan int), make(chan program, len(m.Programs))
	for _, p := range m.Programs {
		due <- p
	}
	running := map[int]program{}
	go reap(ended)
	for {
		select {
		case p := <-due:
			pid, err := m.start(p)
			if err != nil {
				return fmt.Errorf("start %s: %w", p.Name, err)
			}
			running[pid] = p
		case pid := <-ended:
			p, ours := running[pid]
			if !ours {
				continue
			}
			delete(running, pid)
			_, _ = fmt.Fprintf(os.Stderr, "%s %s ended and is started again\n", time.Now().Format(time.RFC3339), p.Name)
			time.AfterFunc(time.Second, func() { due <- p })
		}
	}
}

// reap reports each child that has ended. While there is none it looks again
// every second: the kernel has no wait for a first child.
func reap(ended chan<- int) {
	ticker := time.NewTicker(time.Second)
	for {
		pid, err := syscall.Wait4(-1, nil, 0, nil)
		switch err {
		case nil:
			ended <- pid
		case syscall.EINTR:
		default:
			<-ticker.C
		}
	}
}

func (m machine) start(p program) (pid int, err error) {
	log, err := m.openLog(p.Name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = log.Close() }()
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer func() { _ = nothing.Close() }()
	return syscall.ForkExec(p.Arguments[0], p.Arguments, &syscall.ProcAttr{
		Dir:   m.Folder,
		Env:   []string{"PATH=" + p.Path, "HOME=/root"},
		Files: []uintptr{nothing.Fd(), log.Fd(), log.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}
