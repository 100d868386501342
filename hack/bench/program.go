package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startLimit is how long a program may take until it is ready.
const startLimit = 5 * time.Minute

// program is a server under measurement, a process of its own.
type program struct {
	command *exec.Cmd
	exited  chan error // receives what Wait returned
	address string     // host:port of the API
	client  *client
}

// build compiles the program into dir.
func build(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "acclaim")
	command := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/acclaim-dev/acclaim/services")
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, nil
}

// start runs a subcommand of the binary, with env added to its environment, and
// waits until it is ready. Its log is thrown away, by the system and not by us,
// which costs all programs the same.
func start(ctx context.Context, env []string, binary, subcommand, registry, data string, flags ...string) (*program, error) {
	command := exec.CommandContext(ctx, binary, subcommand, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--extensions", registry, "--data-dir", data)
	command.Args = append(command.Args, flags...)
	command.Env = slices.Concat(os.Environ(), []string{"GOGC=100"}, env) // liveHeap rests on GOGC
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = grace
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	p := &program{command: command, exited: make(chan error, 1)}
	ready := make(chan string, 1)
	go func() {
		ready <- readyLine(stdout)
		_, _ = io.Copy(io.Discard, stdout) // it ends with the process
		p.exited <- command.Wait()
	}()
	if err := p.await(ctx, ready); err != nil {
		return nil, errors.Join(fmt.Errorf("acclaim %s: %w", subcommand, err), p.stop()) // flags may hold secrets
	}
	return p, nil
}

// readyLine returns the line that says where a program listens, or nothing when
// its output ends without one.
func readyLine(stdout io.Reader) string {
	for lines := bufio.NewReader(stdout); ; {
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, "ready ") || err != nil {
			return line
		}
	}
}

func (p *program) await(ctx context.Context, ready <-chan string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, errors.New("not ready in time"))
	defer cancel()
	select {
	case line := <-ready:
		return p.parseReady(line)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *program) parseReady(line string) error {
	addresses := map[string]string{}
	for field := range strings.FieldsSeq(line) {
		name, address, _ := strings.Cut(field, "=")
		addresses[name] = address
	}
	base, err := url.Parse(addresses["base"])
	if err != nil || base.Host == "" {
		return errors.New("ended without a ready line; run it by hand to see why")
	}
	backend, err := credential("backend", channel, "")
	if err != nil {
		return err
	}
	p.address = base.Host
	p.client = &client{base: addresses["base"], admin: addresses["admin"], credential: backend}
	return nil
}

// stop asks the program to drain, and kills it when that takes too long.
func (p *program) stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may be gone already
	kill := time.AfterFunc(grace, func() { _ = p.command.Process.Kill() })
	defer kill.Stop()
	return <-p.exited
}

// cpu returns the processor time the program has used, in steps of 10 ms; 0
// where the system has no /proc.
func (p *program) cpu() time.Duration {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.command.Process.Pid), "stat"))
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
