package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

const (
	startTimeout = time.Minute   // until a program is ready
	grace        = harness.Grace // for a program to stop
	openFiles    = 3000          // ulimit -n of the program
	memoryBudget = 256 << 20     // of the program, bytes
	diskSize     = "320m"        // of the small file system
)

// program is the server under attack, a process of its own.
type program struct {
	process *harness.Process
	failure error  // why it has exited
	base    string // of the API
	sandbox string
	admin   string
	games   string // base address of GameLink
	address string // host:port of the API
	rig     string // host:port of the rig
	// registry is the path of the file that declares the extensions.
	registry string
	data     string // its data folder as another process sees it
	log      string // path of its log
}

// builtProgram is the compiled program and the flags that it knows.
type builtProgram struct {
	path string
	help []byte
}

func buildProgram(ctx context.Context, dir string, flags ...string) (b builtProgram, err error) {
	// Without cgo, as releases are: the memory limit then covers what the store allocates.
	if b.path, err = harness.BuildProgram(ctx, dir, []string{"CGO_ENABLED=0"}, flags...); err != nil {
		return b, err
	}
	b.help, err = exec.CommandContext(ctx, b.path, "serve", "--help").CombinedOutput()
	return b, err
}

// programSettings holds the settings in which the programs differ.
type programSettings struct {
	registry string // declares the extensions
	proxies  string // the network whose proxies it trusts
	// smallDisk puts its data on a file system of diskSize, which ends with the process.
	smallDisk bool
	flags     []string
	// rig is the path of the extension that the program shows as acclaim rig. Empty: it only serves.
	rig string
}

// startProgram runs `acclaim serve`, or `acclaim rig`, under the limits, in dir, and waits until it is ready.
func startProgram(ctx context.Context, b builtProgram, dir string, s programSettings) (*program, error) {
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "extensions.yaml")
	if err := os.WriteFile(file, []byte(s.registry), 0o600); err != nil {
		return nil, err
	}
	script := fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, openFiles)
	if s.smallDisk {
		script = fmt.Sprintf("mount -t tmpfs -o size=%s tmpfs %q && %s", diskSize, data, script)
	}
	mode, rig := []string{"serve"}, ""
	if s.rig != "" {
		var err error
		if rig, err = findPort(ctx); err != nil {
			return nil, err
		}
		mode = []string{"rig", s.rig, "--rig-listen", rig, "--extension", extension}
	}
	args := slices.Concat([]string{"-c", script, b.path}, mode, []string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--data-dir", data, "--extensions", file, "--log-level", "warn"}, s.flags)
	for _, flag := range optionalFlags(s.proxies) {
		if bytes.Contains(b.help, []byte(flag.name+" ")) {
			args = append(args, flag.name+"="+flag.value)
		}
	}
	command := exec.CommandContext(ctx, "sh", args...)
	command.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%d", memoryBudget))
	if s.smallDisk {
		command.SysProcAttr = ownMounts()
	}
	p, err := startCommand(ctx, command, filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	p.registry, p.rig = file, rig
	p.data = filepath.Join("/proc", strconv.Itoa(command.Process.Pid), "root", data)
	return p, nil
}

// optionalFlag is passed to programs that know it.
type optionalFlag struct{ name, value string }

func optionalFlags(proxies string) []optionalFlag {
	return []optionalFlag{
		{"--gamelink-listen", "127.0.0.1:0"},
		{"--memory-budget", strconv.Itoa(memoryBudget)},
		{"--trusted-proxies", proxies},
		{"--sink-allow-private", "true"}, // the receivers are on this machine
	}
}

// startCommand starts a program that prints the ready line and waits for it.
func startCommand(ctx context.Context, command *exec.Cmd, log string) (*program, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the program has its own
	command.Stderr = file
	p, err := harness.StartProgram(ctx, command, startTimeout)
	if err != nil {
		said, _ := os.ReadFile(log)
		return nil, fmt.Errorf("acclaim serve: %w\n%.2000s", err, said)
	}
	return &program{process: p, log: log, base: p.Base, sandbox: p.Sandbox, admin: p.Admin, games: p.Games, address: p.Host}, nil
}

func (p *program) stop() error { return p.process.Stop() }

// hasExited reports whether the program ended by itself, and keeps why.
func (p *program) hasExited() (ended bool) {
	ended, p.failure = p.process.HasExited()
	return ended
}

// heldResources counts the memory and the files of a process.
type heldResources struct {
	resident, peak int64 // bytes
	descriptors    int
}

// readResources asks the kernel. It returns zeros for a process that has ended.
func (p *program) readResources() (r heldResources) {
	process := p.process.Command.Process.Pid
	r.resident, r.peak = harness.ReadMemory(process)
	descriptors, _ := os.ReadDir(filepath.Join("/proc", strconv.Itoa(process), "fd"))
	r.descriptors = len(descriptors)
	return r
}

// countStored returns the bytes in the data folder.
func (p *program) countStored() (sum int64) {
	_ = filepath.WalkDir(p.data, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // the store has removed it meanwhile
		}
		if info, err := entry.Info(); err == nil && !entry.IsDir() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// readLiveHeap has the program collect garbage and returns the bytes that are left.
func (p *program) readLiveHeap(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	_, profile, err := harness.Ask(ctx, http.DefaultClient, http.MethodGet, p.admin+"/debug/pprof/heap?gc=1&debug=1", "", "")
	if err != nil {
		return 0, err
	}
	_, figure, found := strings.Cut(string(profile), "# HeapAlloc = ")
	if !found {
		return 0, errors.New("the heap profile has no HeapAlloc")
	}
	figure, _, _ = strings.Cut(figure, "\n")
	return strconv.ParseInt(figure, 10, 64)
}
