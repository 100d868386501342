package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Set with -ldflags "-X main.version=1.2.3 -X main.commit=…"; "" takes what the Go
// tool has recorded.
var (
	version string
	commit  string //nolint:gochecknoglobals // the linker can set nothing else
)

// describeBuild returns the version, the commit and the Go version.
func describeBuild() string {
	number, revision := version, commit
	if recorded, ok := debug.ReadBuildInfo(); ok {
		number = cmp.Or(number, recorded.Main.Version)
		for _, setting := range recorded.Settings {
			if setting.Key == "vcs.revision" {
				revision = cmp.Or(revision, setting.Value)
			}
		}
	}
	return fmt.Sprintf("operator %s (commit %s, %s)", cmp.Or(number, "(devel)"), cmp.Or(revision, "unknown"), runtime.Version())
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the Go version",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), describeBuild())
			return err
		},
	}
}
