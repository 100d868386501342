package harness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Database is a running database server of the project: that of hack/mongod, or the model of a
// replica set (mongoset).
type Database struct {
	URI string
	// Stop ends it, by the end of its input.
	Stop func() error
}

// StartDatabase compiles the server in a folder of the project, which may be a module of its
// own, into another folder, starts it and reads its URI, which it prints. The server ends with
// ctx, too.
func StartDatabase(ctx context.Context, folder, server string, args ...string) (*Database, error) {
	binary, err := filepath.Abs(filepath.Join(folder, filepath.Base(server)))
	if err != nil {
		return nil, err
	}
	compiler := exec.CommandContext(ctx, "go", "build", "-C", server, "-o", binary, ".")
	compiler.Env = append(os.Environ(), withoutC)
	if out, err := compiler.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w\n%s", err, out)
	}
	return startDatabase(exec.CommandContext(ctx, binary, args...))
}

func startDatabase(command *exec.Cmd) (*Database, error) {
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	stop := func() error { return errors.Join(in.Close(), command.Wait()) }
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("it prints no URI: %w", err), stop())
	}
	return &Database{URI: strings.TrimSpace(line), Stop: stop}, nil
}
