package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/services/internal/process/app"
)

// Set with -ldflags "-X …/cli.version=1.2.3 -X …/cli.commit=…"; "" takes what the Go
// tool has recorded.
var (
	version string
	commit  string //nolint:gochecknoglobals // the linker can set nothing else
)

// build identifies the program.
type build app.Build

func (b build) String() string {
	return fmt.Sprintf("acclaim %s (commit %s, %s)", b.Version, b.Commit, b.GoVersion)
}

// readBuild returns what was linked in, else what the Go tool has recorded.
func readBuild() build {
	b := build{Version: version, Commit: commit, GoVersion: runtime.Version()}
	if recorded, ok := debug.ReadBuildInfo(); ok {
		b.Version = cmp.Or(b.Version, recorded.Main.Version)
		for _, setting := range recorded.Settings {
			if setting.Key == "vcs.revision" {
				b.Commit = cmp.Or(b.Commit, setting.Value)
			}
		}
	}
	b.Version, b.Commit = cmp.Or(b.Version, "(devel)"), cmp.Or(b.Commit, "unknown")
	return b
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the Go version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), readBuild())
			return err
		},
	}
}
