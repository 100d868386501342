package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// component is a module below tools, built from the Go module it pins.
type component struct {
	name     string
	upstream string   // module that has the version
	version  []string // variables to set to it when linking
	tags     string
	cgo      bool
	image    bool // also packed into an image
	// replaced is built in a form of ours, if it has a module.
	replaced substitution
}

// components returns all of them, what takes longest first.
func components() []component {
	return []component{
		{
			name: "kubernetes", upstream: "k8s.io/kubernetes",
			// Without a version clients refuse the servers and kubectl complains.
			version: []string{"k8s.io/component-base/version.gitVersion", "k8s.io/client-go/pkg/version.gitVersion"},
		},
		{
			name: "traefik", upstream: "github.com/traefik/traefik/v3", image: true,
			replaced: substitution{module: "github.com/go-acme/lego/v4", folder: "providers/dns"},
		},
		{name: "coredns", upstream: "github.com/coredns/coredns", image: true},
		{name: "metrics-server", upstream: "sigs.k8s.io/metrics-server", image: true},
		{name: "containerd", upstream: "github.com/containerd/containerd/v2", version: []string{"github.com/containerd/containerd/v2/version.Version"}},
		{name: "helm", upstream: "helm.sh/helm/v4"},
		{name: "skipper", upstream: "github.com/zalando/skipper", image: true},
		// runc enters namespaces in C before Go starts, and filters system calls by
		// libseccomp; without that no pod with a RuntimeDefault profile starts.
		{name: "runc", upstream: "github.com/opencontainers/runc", version: []string{"main.version"}, tags: "seccomp", cgo: true},
		{name: "cni", upstream: "github.com/containernetworking/plugins"},
		// Its Kubernetes libraries are of the operator's version, which are built already.
		{name: "kube-router", upstream: "github.com/cloudnativelabs/kube-router/v2"},
	}
}

// builder builds components into the user's cache.
type builder struct {
	source string // hack/cluster
	cache  string
	report *report
}

// newBuilder returns the builder of a checkout, given its folder.
func newBuilder(root string, r *report) (builder, error) {
	cache, err := cacheFolder()
	return builder{source: filepath.Join(root, "hack", "cluster"), cache: cache, report: r}, err
}

// buildComponent returns the folder of a component's programs, and builds them first when
// they are not there. The folder is there whole or not at all.
func (b builder) buildComponent(ctx context.Context, c component) (string, error) {
	module := filepath.Join(b.source, "tools", c.name)
	sources, err := filepath.Glob(filepath.Join(module, "*")) // go.mod, go.sum and a program of ours
	if err != nil {
		return "", err
	}
	key, err := cacheKey(fmt.Sprintf("%+v", c), sources...)
	if err != nil {
		return "", err
	}
	return b.fillOnce(ctx, c.name, key, func(folder string) error {
		return c.goBuild(ctx, module, folder)
	})
}

// fillOnce returns a folder of the cache, and has it filled when it is not there.
func (b builder) fillOnce(ctx context.Context, name, key string, fill func(folder string) error) (string, error) {
	folder := filepath.Join(b.cache, "cluster-"+name+"-"+key)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	unfinished := folder + "." + rand.Text()
	defer func() { _ = os.RemoveAll(unfinished) }()
	if err := os.MkdirAll(unfinished, 0o755); err != nil {
		return "", err
	}
	err := b.report.reportStep(ctx, "building "+name, func() error { return fill(unfinished) })
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	err = os.Rename(unfinished, folder)
	if _, missing := os.Stat(folder); missing == nil {
		return folder, nil // another run may have been first
	}
	return folder, err
}

func (c component) goBuild(ctx context.Context, module, folder string) error {
	flags := []string{"-s", "-w"}
	if len(c.version) > 0 {
		version, err := runCommand(ctx, module, "go", "list", "-m", "-f", "{{.Version}}", c.upstream)
		if err != nil {
			return err
		}
		for _, variable := range c.version {
			flags = append(flags, fmt.Sprintf("-X %s=%s", variable, version))
		}
	}
	cgo := "CGO_ENABLED=0"
	if c.cgo {
		cgo = "CGO_ENABLED=1"
	}
	build := []string{cgo, "go", "build", "-mod=readonly", "-trimpath", "-tags", c.tags, "-ldflags", strings.Join(flags, " ")}
	if c.replaced.module != "" {
		temporary, err := os.MkdirTemp("", "acclaim-cluster-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(temporary) }()
		modFile, err := c.replaced.writeModFile(ctx, module, temporary)
		if err != nil {
			return err
		}
		build = append(build, "-modfile", modFile)
	}
	_, err := runCommand(ctx, module, "env", append(build, "-o", folder+string(filepath.Separator), "tool")...)
	return err
}

// cacheKey returns what settings, the contents of files and the version of Go
// decide.
func cacheKey(settings string, files ...string) (string, error) {
	hash := sha256.New()
	hash.Write([]byte(settings + runtime.Version() + runtime.GOARCH))
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		hash.Write(content)
	}
	return fmt.Sprintf("%x", hash.Sum(nil)[:8]), nil
}

// cacheFolder returns the folder of the user's cache that is ours.
func cacheFolder() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "acclaim"), err
}

// runCommand runs a command in a folder and returns what it prints.
func runCommand(ctx context.Context, folder, name string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir = folder
	return commandOutput(command)
}

// commandOutput runs a command and returns what it prints, without the last newline;
// its complaints are part of the error.
func commandOutput(command *exec.Cmd) (string, error) {
	var complaints strings.Builder
	command.Stderr = &complaints
	result, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command.Args, " "), err, strings.TrimSpace(complaints.String()))
	}
	return strings.TrimSpace(string(result)), nil
}
