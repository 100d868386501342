package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// nobody is the user and group that the program runs as.
const nobody = 65532

// dataFolder is where the embedded store is, and the only place to write to.
const dataFolder = "/data"

// product is what Acclaim's own image is built from.
type product struct {
	source       string // folder of the module
	architecture string
	version      string
}

// build builds the programs into a folder and returns what the image has. There
// is no CA bundle among it: the program carries one.
func (p product) build(ctx context.Context, folder string) ([]entry, error) {
	for program, pkg := range map[string]string{"acclaim": "./services", "operator": "./operator"} {
		// What version control knows stays out, so that the bytes depend on nothing but
		// the source and the version of Go.
		command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid=", "-o", filepath.Join(folder, program), pkg)
		command.Dir = p.source
		command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+p.architecture)
		if output, err := command.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, output)
		}
	}
	return p.contents(folder), nil
}

// contents returns what the image has, given the folder of the programs.
func (p product) contents(folder string) []entry {
	return []entry{
		{path: "/LICENSE", source: filepath.Join(p.source, "LICENSE"), mode: 0o644},
		{path: "/acclaim", source: filepath.Join(folder, "acclaim"), mode: 0o755},
		{path: "/operator", source: filepath.Join(folder, "operator"), mode: 0o755},
		{path: dataFolder, mode: 0o755, owner: nobody},
	}
}

// config returns what the image says of itself. It is as old as the commit that
// it is built from or, where there is none, as SOURCE_DATE_EPOCH or the epoch.
func (p product) config(ctx context.Context) (config, error) {
	revision, created, err := p.commit(ctx)
	if err != nil {
		return config{}, err
	}
	return config{
		architecture: p.architecture,
		entrypoint:   []string{"/acclaim"},
		user:         fmt.Sprintf("%[1]d:%[1]d", nobody),
		workingDir:   dataFolder,
		labels:       labels(p.version, revision, created),
		created:      created,
	}, nil
}

func labels(version, revision string, created time.Time) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title":       "Acclaim",
		prefix + "description": "A self-hosted backend for streaming-platform extensions",
		prefix + "source":      "https://github.com/acclaim-dev/acclaim",
		prefix + "licenses":    "Apache-2.0",
		prefix + "version":     version,
		prefix + "revision":    revision,
		prefix + "created":     created.UTC().Format(time.RFC3339),
	}
}

func (p product) commit(ctx context.Context) (revision string, created time.Time, err error) {
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	command := exec.CommandContext(ctx, "git", "log", "-1", "--format=%H %ct")
	command.Dir = p.source
	if output, err := command.Output(); err == nil {
		commit, committed, _ := strings.Cut(strings.TrimSpace(string(output)), " ")
		revision = commit
		if seconds == "" {
			seconds = committed
		}
	}
	if seconds == "" {
		seconds = "0"
	}
	epoch, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is not a number of seconds: %w", err)
	}
	return revision, time.Unix(epoch, 0), nil
}
