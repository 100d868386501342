package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// grace limits the time a program may take to stop.
const grace = 30 * time.Second

// buildProgram compiles a command of the module into dir.
func buildProgram(ctx context.Context, dir, pkg string) (string, error) {
	binary := filepath.Join(dir, "bin-"+filepath.Base(pkg))
	command := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/acclaim-dev/acclaim/"+pkg)
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return binary, nil
}

// process is a program that runs.
type process struct{ *exec.Cmd }

// startProcess runs a program with its log in a file. It gets SIGTERM when ctx is done.
func startProcess(ctx context.Context, log string, environment []string, binary string, flags ...string) (process, *bufio.Reader, error) {
	command := exec.CommandContext(ctx, binary, flags...)
	command.Env = append(os.Environ(), environment...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = grace
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return process{}, nil, err
	}
	command.Stderr = file
	output, err := command.StdoutPipe()
	if err != nil {
		return process{}, nil, errors.Join(err, file.Close())
	}
	err = command.Start()
	return process{command}, bufio.NewReader(output), errors.Join(err, file.Close()) // the program has its own
}

// stop asks the program to end and waits until it did.
func (p process) stop() error {
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := p.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && !exit.Exited() {
		return nil // the signal, before the program handled it
	}
	return err
}

// readMemory returns what a program holds and the most it ever held, in bytes.
func (p process) readMemory() (resident, peak int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kilobytes, _ := strconv.ParseInt(fields[1], 10, 64) // of other lines it is no number
		switch fields[0] {
		case "VmRSS:":
			resident = kilobytes << 10
		case "VmHWM:":
			peak = kilobytes << 10
		}
	}
	return resident, peak, nil
}

// freeAddress returns an address that nothing listens on at the moment.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
