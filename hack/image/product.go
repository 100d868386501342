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

// unprivileged is the user and group that the program runs as.
const unprivileged = 65532

// dataFolder holds the embedded store. It is the only folder that the program
// can write to.
const dataFolder = "/data"

// product describes Acclaim's own image.
type product struct {
	source       string // folder of the module
	architecture string
	version      string
	revision     string // commit, "" when unknown
}

// program is one of the image's two. Its variables version and commit are in the
// package versioned.
type program struct {
	name, pkg, versioned string
}

func programs() []program {
	return []program{
		{"acclaim", "./services", "github.com/acclaim-dev/acclaim/services/internal/process/cli"},
		{"operator", "./operator", "main"},
	}
}

// linkFlags strips the program and stamps its version. The commit comes from the
// flags instead of Go's own stamp, which differs between a checkout and a build
// from an archive: the bytes depend on the source, the version, the commit and
// the version of Go alone.
func (p product) linkFlags(program program) string {
	return fmt.Sprintf("-s -w -buildid= -X %[1]s.version=%[2]s -X %[1]s.commit=%[3]s", program.versioned, p.version, p.revision)
}

// build builds the programs into a folder and returns the entries of the image.
// It adds no CA bundle: the programs embed one.
func (p product) build(ctx context.Context, folder string) ([]entry, error) {
	for _, program := range programs() {
		if err := p.compile(ctx, program, "linux", p.architecture, filepath.Join(folder, program.name)); err != nil {
			return nil, err
		}
	}
	return p.contents(folder), nil
}

// compile builds a program for a platform into a file.
func (p product) compile(ctx context.Context, program program, system, architecture, file string) error {
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", p.linkFlags(program), "-o", file, program.pkg)
	command.Dir = p.source
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", program.pkg, err, output)
	}
	return nil
}

// contents returns the entries of the image, given the folder of the programs.
func (p product) contents(folder string) []entry {
	return []entry{
		{path: "/LICENSE", source: filepath.Join(p.source, "LICENSE"), mode: 0o644},
		{path: "/acclaim", source: filepath.Join(folder, "acclaim"), mode: 0o755},
		{path: "/operator", source: filepath.Join(folder, "operator"), mode: 0o755},
		{path: dataFolder, mode: 0o755, owner: unprivileged},
	}
}

// config returns the configuration of the image: its time is that of the commit
// or, without one, SOURCE_DATE_EPOCH or the epoch.
func (p product) config(ctx context.Context) (config, error) {
	created, err := p.created(ctx)
	if err != nil {
		return config{}, err
	}
	return config{
		architecture: p.architecture,
		entrypoint:   []string{"/acclaim"},
		user:         fmt.Sprintf("%[1]d:%[1]d", unprivileged),
		workingDir:   dataFolder,
		labels:       labels(p.version, p.revision, created),
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

// complete fills in the version and the revision that were not given, from git:
// "v1.2.3" at a tag, "v1.2.3-4-g0123456789ab" after one, with "-dirty" when files
// differ from the commit. Outside of a repository the version is "dev".
func (p product) complete(ctx context.Context) product {
	if p.version == "" {
		p.version = "dev"
		// A fixed length, as the default depends on the number of objects.
		if described, err := p.git(ctx, "describe", "--tags", "--always", "--dirty", "--abbrev=12"); err == nil {
			p.version = described
		}
	}
	if p.revision == "" {
		p.revision, _ = p.git(ctx, "rev-parse", "HEAD") // none outside of a repository
	}
	return p
}

func (p product) created(ctx context.Context) (time.Time, error) {
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		seconds = "0"
		if committed, err := p.git(ctx, "log", "-1", "--format=%ct"); err == nil {
			seconds = committed
		}
	}
	epoch, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is not a number of seconds: %w", err)
	}
	return time.Unix(epoch, 0), nil
}

func (p product) git(ctx context.Context, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", arguments...)
	command.Dir = p.source
	output, err := command.Output()
	return strings.TrimSpace(string(output)), err
}
