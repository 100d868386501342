package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// download fetches the release of the programs that setup-envtest knows, into a
// folder that it keeps.
type download struct {
	tool            func(ctx context.Context) (string, error) // returns the path of setup-envtest
	version         string                                    // such as 1.36.x
	folder          string
	buildTimeout    time.Duration // of setup-envtest itself
	answerTimeout   time.Duration // of the request for the list of releases
	downloadTimeout time.Duration
}

func newDownload(source, cache string) download {
	return download{
		tool: func(ctx context.Context) (string, error) {
			modules := filepath.Join(filepath.Dir(source), "tools", "setup-envtest", "go.mod")
			return commandOutput(ctx, "go", "tool", "-modfile="+modules, "-n", "setup-envtest")
		},
		version:         minorVersion + ".x",
		folder:          filepath.Join(cache, "envtest-releases"),
		buildTimeout:    2 * time.Minute,
		answerTimeout:   5 * time.Second,
		downloadTimeout: 5 * time.Minute,
	}
}

// findRelease returns the folder of a release. Without a network it fails in seconds.
func (d download) findRelease(ctx context.Context, report io.Writer) (string, error) {
	building, cancel := context.WithTimeout(ctx, d.buildTimeout)
	defer cancel()
	tool, err := d.tool(building)
	if err != nil {
		return "", fmt.Errorf("setup-envtest cannot be built: %w", err)
	}
	if folder, err := d.useRelease(ctx, d.answerTimeout, tool, "--installed-only"); err == nil {
		return folder, nil
	}
	asking, cancel := context.WithTimeout(ctx, d.answerTimeout)
	defer cancel()
	if _, err := commandOutput(asking, tool, "list", d.version, "--bin-dir", d.folder); err != nil {
		return "", err
	}
	_, _ = fmt.Fprintf(report, "envtest: downloading Kubernetes %s into %s, once\n", d.version, d.folder)
	return d.useRelease(ctx, d.downloadTimeout, tool)
}

func (d download) useRelease(ctx context.Context, limit time.Duration, tool string, flags ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	folder, err := commandOutput(ctx, tool, append([]string{"use", d.version, "--bin-dir", d.folder, "--print", "path"}, flags...)...)
	if err != nil {
		return "", err
	}
	return folder, checkComplete(folder)
}

// commandOutput returns the standard output of a command, and an error with the last
// line of its standard error.
func commandOutput(ctx context.Context, name string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	command.WaitDelay = time.Second // a child of it can hold the pipes open
	printed, err := command.Output()
	if ctx.Err() != nil {
		return "", errors.New("no answer in time")
	}
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		message := strings.TrimSpace(string(exit.Stderr))
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(name), err, message[strings.LastIndex(message, "\n")+1:])
	}
	return strings.TrimSpace(string(printed)), err
}
