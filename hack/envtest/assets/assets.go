// Package assets finds the etcd and the kube-apiserver that the operator is tested
// against: in the folder that KUBEBUILDER_ASSETS names, as a release that
// setup-envtest can download, or built from Go modules. It is an error if all
// fail, never a reason to skip a test.
//
// Only tests and hack/envtest may import it.
package assets

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Variable names a folder that has the programs.
const Variable = "KUBEBUILDER_ASSETS"

// minorVersion is the version of Kubernetes to test with. The module apiserver
// pins the patch.
const minorVersion = "1.36"

// program describes one to build.
type program struct {
	name, module, pkg, linkFlags string
}

// programs returns the programs to build, the slower first.
func programs() []program {
	// Without the stamp the API server has no version, and clients that ask for one
	// refuse it.
	const version = "v" + minorVersion + ".3"
	flags := []string{"-s -w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags, fmt.Sprintf("-X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=1 -X %[1]s.gitMinor=36"+
			" -X %[1]s.gitTreeState=clean -X %[1]s.gitCommit=module -X %[1]s.buildDate=1970-01-01T00:00:00Z", pkg, version))
	}
	return []program{
		{"kube-apiserver", "apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", strings.Join(flags, " ")},
		{"etcd", "etcd", "go.etcd.io/etcd/server/v3", "-s -w"},
	}
}

// sourceOption is one of the ways to get the programs.
type sourceOption struct {
	description string
	find        func(ctx context.Context, report io.Writer) (string, error)
}

// errNone means that a way does not apply, which is worth no report.
var errNone = errors.New("not there")

// Find returns a folder that holds the programs, and reports which way it takes
// and why. Programs in KUBEBUILDER_ASSETS, and programs that an earlier call
// built or downloaded, take no time; a download takes about a minute, building
// about 20 minutes on two cores.
func Find(ctx context.Context, report io.Writer) (string, error) {
	if folder := os.Getenv(Variable); folder != "" {
		_, _ = fmt.Fprintf(report, "envtest: etcd and kube-apiserver are in %s, as %s says\n", folder, Variable)
		return folder, checkComplete(folder)
	}
	source, err := sourceFolder(ctx)
	if err != nil {
		return "", err
	}
	built, err := cacheFolder(source)
	if err != nil {
		return "", err
	}
	return findFirst(ctx, report, []sourceOption{
		{"built earlier", func(context.Context, io.Writer) (string, error) {
			if checkComplete(built) != nil {
				return "", errNone
			}
			return built, nil
		}},
		{"released, from setup-envtest", newDownload(source, filepath.Dir(built)).findRelease},
		{"built from modules", func(ctx context.Context, report io.Writer) (string, error) {
			return built, build(ctx, source, built, report)
		}},
	})
}

// findFirst returns the folder of the first way that succeeds.
func findFirst(ctx context.Context, report io.Writer, ways []sourceOption) (string, error) {
	var failures []error
	for _, w := range ways {
		folder, err := w.find(ctx, report)
		if err == nil {
			_, _ = fmt.Fprintf(report, "envtest: etcd and kube-apiserver are in %s, %s\n", folder, w.description)
			return folder, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if !errors.Is(err, errNone) {
			_, _ = fmt.Fprintf(report, "envtest: not %s: %v\n", w.description, err)
			failures = append(failures, err)
		}
	}
	return "", errors.Join(failures...)
}

// checkComplete returns an error that names the programs that a folder lacks.
func checkComplete(folder string) error {
	var missing []error
	for _, p := range programs() {
		if _, err := os.Stat(filepath.Join(folder, p.name)); err != nil {
			missing = append(missing, err)
		}
	}
	return errors.Join(missing...)
}

// sourceFolder returns hack/envtest of the module that the process runs in.
func sourceFolder(ctx context.Context) (string, error) {
	gomod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.Join(filepath.Dir(strings.TrimSpace(string(gomod))), "hack", "envtest"), nil
}

func cacheFolder(source string) (string, error) {
	hash := sha256.New()
	hash.Write([]byte(runtime.Version()))
	for _, p := range programs() {
		hash.Write([]byte(p.pkg + p.linkFlags))
		for _, name := range []string{"go.mod", "go.sum"} {
			content, err := os.ReadFile(filepath.Join(source, p.module, name))
			if err != nil {
				return "", err
			}
			hash.Write(content)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "acclaim", fmt.Sprintf("envtest-%x", hash.Sum(nil)[:8])), nil
}

// build fills the folder. Several processes may build at once: each replaces a
// program by the same program.
func build(ctx context.Context, source, folder string, report io.Writer) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	all := programs()
	for i, p := range all {
		_, _ = fmt.Fprintf(report, "envtest: building %s (%d of %d) into %s, once; this takes a few minutes\n", p.name, i+1, len(all), folder)
		began := time.Now()
		if err := p.build(ctx, source, folder, report); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(report, "envtest: built %s in %v\n", p.name, time.Since(began).Round(time.Second))
	}
	return nil
}

// build builds one program and reports every half minute that it goes on.
func (p program) build(ctx context.Context, source, folder string, report io.Writer) error {
	ctx, done := context.WithCancel(ctx)
	defer done()
	go reportProgress(ctx, p.name, report)
	finished := filepath.Join(folder, p.name)
	unfinished := finished + "." + rand.Text()
	command := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-ldflags", p.linkFlags, "-o", unfinished, p.pkg)
	command.Dir = filepath.Join(source, p.module)
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", p.name, err, output)
	}
	return os.Rename(unfinished, finished)
}

func reportProgress(ctx context.Context, name string, report io.Writer) {
	began, ticker := time.Now(), time.NewTicker(30*time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_, _ = fmt.Fprintf(report, "envtest: still building %s, %v\n", name, time.Since(began).Round(time.Second))
		}
	}
}
