package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// debianPackages returns the Debian packages that have the commands we run, but Go.
func debianPackages() map[string]string {
	return map[string]string{
		"gcc":        "gcc libc6-dev",
		"ip":         "iproute2",
		"ipset":      "ipset",
		"iptables":   "iptables",
		"mount":      "mount",
		"nft":        "nftables",
		"nsenter":    "util-linux",
		"pkg-config": "pkg-config",
	}
}

// checkPackages returns an error that names the packages that are missing.
func checkPackages(ctx context.Context) error {
	var missing []string
	for command, name := range debianPackages() {
		if _, err := exec.LookPath(command); err != nil {
			missing = append(missing, name)
		}
	}
	if exec.CommandContext(ctx, "pkg-config", "--exists", "libseccomp").Run() != nil {
		missing = append(missing, "libseccomp-dev")
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("this machine is not complete: apt-get install --no-install-recommends %s", strings.Join(missing, " "))
}
