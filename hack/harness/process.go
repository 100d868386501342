// Package harness runs the program, or a database for it, as a process of its own, and asks it
// from outside: over HTTP, by its metrics and by what the system knows of the process. It serves
// the tools that measure or attack the program, and knows no load and no verdict.
package harness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// withoutC is in the environment of what compiles programs, also in tests with the race
// detector, which needs C: so Go compiles no package a third time.
const withoutC = "CGO_ENABLED=0"

// Grace limits the time that a program takes to stop.
const Grace = 30 * time.Second

// Process is a running program that has printed where it serves.
type Process struct {
	Command *exec.Cmd
	// Base, Sandbox and Admin are base addresses, empty for what it does not serve; Host is
	// the host:port of Base.
	Base, Sandbox, Admin, Host string
	// Games is the address of GameLink, empty where it is not served.
	Games string

	exited  chan struct{} // closed when it has ended
	failure error         // why, once it has
}

// BuildProgram compiles the program into a folder, with env added to the environment of
// `go build` and with its flags, and returns the path of the binary. Like the image, it
// has no C.
func BuildProgram(ctx context.Context, folder string, env []string, flags ...string) (binary string, err error) {
	return build(ctx, filepath.Join(folder, "acclaim"), "services", env, flags)
}

// BuildCommand compiles the command in a folder of the project, such as hack/words, into
// another folder, and returns the path of the binary.
func BuildCommand(ctx context.Context, folder, command string) (binary string, err error) {
	return build(ctx, filepath.Join(folder, path.Base(command)), command, nil, nil)
}

func build(ctx context.Context, binary, command string, env, flags []string) (string, error) {
	args := slices.Concat([]string{"build", "-o", binary}, flags, []string{"github.com/acclaim-dev/acclaim/" + command})
	compiler := exec.CommandContext(ctx, "go", args...)
	compiler.Env = slices.Concat(os.Environ(), []string{withoutC}, env)
	if out, err := compiler.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, nil
}

// StartProgram starts a program that prints the ready line and waits for it. When ctx ends
// it stops the program as Stop does. The command's standard output is taken.
func StartProgram(ctx context.Context, command *exec.Cmd, timeout time.Duration) (*Process, error) {
	p, ready, err := start(command)
	if err != nil {
		return nil, err
	}
	if err := p.awaitReady(ctx, ready, timeout); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// StartProcess starts a program that prints no ready line. When ctx of the command ends it stops
// the program as Stop does.
func StartProcess(command *exec.Cmd) (*Process, error) {
	p, _, err := start(command)
	return p, err
}

// start starts a program. ready receives its ready line, or the last one without.
func start(command *exec.Cmd) (p *Process, ready <-chan string, err error) {
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = Grace
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := command.Start(); err != nil {
		return nil, nil, err
	}
	p = &Process{Command: command, exited: make(chan struct{})}
	line := make(chan string, 1)
	go func() {
		line <- readyLine(stdout)
		_, _ = io.Copy(io.Discard, stdout) // it ends with the process
		p.failure = command.Wait()
		close(p.exited)
	}()
	return p, line, nil
}

// readyLine returns the line that says where a program listens, or the last one when its
// output ends without one.
func readyLine(stdout io.Reader) string {
	for lines := bufio.NewReader(stdout); ; {
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, "ready ") || err != nil {
			return line
		}
	}
}

func (p *Process) awaitReady(ctx context.Context, ready <-chan string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errors.New("not ready in time"))
	defer cancel()
	select {
	case line := <-ready:
		return p.parseReady(line)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *Process) parseReady(line string) error {
	addresses := map[string]string{}
	for field := range strings.FieldsSeq(line) {
		name, address, _ := strings.Cut(field, "=")
		addresses[name] = address
	}
	p.Base, p.Sandbox, p.Admin, p.Games = addresses["base"], addresses["sandbox"], addresses["admin"], addresses["gamelink"]
	base, err := url.Parse(p.Base)
	if err != nil || base.Host == "" {
		return errors.New("ended without a ready line; run it by hand to see why")
	}
	p.Host = base.Host
	return nil
}

// Stop asks the program to drain, and kills it when that takes too long. It returns why the
// program ended.
func (p *Process) Stop() error {
	_ = p.Command.Process.Signal(syscall.SIGTERM) // it may be gone already
	kill := time.AfterFunc(Grace, func() { _ = p.Command.Process.Kill() })
	defer kill.Stop()
	<-p.exited
	return p.failure
}

// HasExited reports whether the program has ended, and why.
func (p *Process) HasExited() (ended bool, failure error) {
	select {
	case <-p.exited:
		return true, p.failure
	default:
		return false, nil
	}
}
