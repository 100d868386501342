package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// place holds where a cluster is: its name begins the names of its network namespaces and
// control groups, and names its state folder. Clusters of two names share nothing but
// the programs.
type place struct {
	name  string
	state string // folder
}

// nameVariable names the cluster that a command is about.
const nameVariable = "ACCLAIM_CLUSTER"

// thisPlace returns the place of the cluster that the environment names. By default each
// checkout has a cluster of its own.
func thisPlace(ctx context.Context) (place, error) {
	name := os.Getenv(nameVariable)
	if name == "" {
		root, err := checkout(ctx)
		if err != nil {
			return place{}, err
		}
		name = defaultName(root)
	}
	if !regexp.MustCompile(`^[a-z0-9][-a-z0-9]{0,39}$`).MatchString(name) {
		return place{}, fmt.Errorf("%s is %q, but must be at most 40 lower-case letters, digits and hyphens", nameVariable, name)
	}
	cache, err := cacheFolder()
	return place{name: name, state: filepath.Join(cache, "clusters", name)}, err
}

// defaultName returns the name of the cluster of a checkout, given its folder.
func defaultName(root string) string {
	return fmt.Sprintf("acclaim-%x", sha256.Sum256([]byte(root)))[:len("acclaim-")+6]
}

// checkout returns the folder of the checkout that we are called in.
func checkout(ctx context.Context) (string, error) {
	gomod, err := runCommand(ctx, "", "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	if filepath.Base(gomod) != "go.mod" {
		return "", errors.New("this is no checkout of Acclaim")
	}
	return filepath.EvalSymlinks(filepath.Dir(gomod))
}

// group returns the name of a machine's network namespace and control group.
func (p place) group(machine string) string { return p.name + "-" + machine }

func (p place) namespacePath(machine string) string {
	return namespaces + "/" + p.group(machine)
}

// machines returns the names of the machines whose network there is.
func (p place) machines() ([]string, error) {
	entries, err := os.ReadDir(namespaces)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, entry := range entries {
		if name, ours := p.machine(entry.Name()); ours {
			names = append(names, name)
		}
	}
	return names, err
}

// machine returns the name of the machine that has a network namespace. The name of one
// cluster may begin that of another.
func (p place) machine(namespace string) (name string, ours bool) {
	name, found := strings.CutPrefix(namespace, p.group(""))
	return name, found && regexp.MustCompile(`^(`+control+`|node-[1-9])$`).MatchString(name)
}
