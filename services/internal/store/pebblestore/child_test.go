package pebblestore

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// childVariable names what a process started by a test is to do, instead of
// tests.
const childVariable = "PEBBLESTORE_TEST_CHILD"

func TestMain(m *testing.M) {
	children := map[string]func(dir string) error{
		"open":       openChild,
		"readonly":   readOnlyChild,
		"append":     appendChild,
		"checkpoint": checkpointChild,
	}
	child, ok := children[os.Getenv(childVariable)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := child(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child returns a process that does one of the things above in a directory.
func child(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], dir)
	command.Env = append(os.Environ(), childVariable+"="+name)
	return command
}

// openChild opens the store and closes it.
func openChild(dir string) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	return s.Close()
}
