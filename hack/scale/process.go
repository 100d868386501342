package main

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// newCommand prepares a program whose log is appended to a file. The caller closes the file when
// the program has started.
func newCommand(ctx context.Context, log string, environment []string, binary string, flags ...string) (*exec.Cmd, *os.File, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	command := exec.CommandContext(ctx, binary, flags...)
	command.Env, command.Stderr = append(os.Environ(), environment...), file
	return command, file, nil
}

// stopProcess asks a program to end and waits until it did. One that ended by the signal, before
// it handled that, has not failed.
func stopProcess(p *harness.Process) error {
	err := p.Stop()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && !exit.Exited() {
		return nil
	}
	return err
}
