// Command image writes container images without Docker or a registry: a
// docker-archive, an OCI layout, or just the root folder, which the Dockerfile
// copies. It also writes the programs of a release and what package managers install
// them by. The same source gives the same bytes.
//
//	go -C hack/image run . acclaim --docker-archive /tmp/acclaim.tar
//	go -C hack/image run . pack --tag localhost/tool:1 --docker-archive /tmp/tool.tar /usr/local/bin/tool
//
// It is a module of its own, so that its dependencies are not the program's.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{Use: "image", Short: "Write container images without Docker or a registry", SilenceUsage: true}
	root.AddCommand(newAcclaim(), newPack(), newIndex(), newArchives(), newSBOM())
	if err := root.ExecuteContext(ctx); err != nil {
		os.Exit(1) // cobra has printed it
	}
}

func newAcclaim() *cobra.Command {
	var o output
	var p product
	cmd := &cobra.Command{
		Use:   "acclaim",
		Short: "Write Acclaim's own image: the services and the operator",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := os.MkdirTemp("", "acclaim-image-")
			if err != nil {
				return err
			}
			defer func() { _ = os.RemoveAll(folder) }()
			p := p.complete(cmd.Context())
			entries, err := p.build(cmd.Context(), folder)
			if err != nil {
				return err
			}
			if o.root != "" {
				return writeRoot(o.root, entries)
			}
			config, err := p.config(cmd.Context())
			if err != nil {
				return err
			}
			return o.write(cmd, entries, config)
		},
	}
	f := cmd.Flags()
	o.register(f)
	f.StringVar(&o.root, "root", "", "folder to lay the root file system out in, instead of writing an image")
	f.StringVar(&o.tag, "tag", "acclaim:dev", "name and tag")
	f.StringVar(&p.source, "source", defaultSource(), "folder of the module")
	f.StringVar(&p.architecture, "architecture", runtime.GOARCH, "processor architecture of the image, by its name in Go")
	f.StringVar(&p.version, "version", "", "version in the programs and the labels (default: from git describe)")
	f.StringVar(&p.revision, "revision", "", "commit in the programs and the labels (default: from git)")
	cmd.MarkFlagsOneRequired("docker-archive", "oci-layout", "root")
	cmd.MarkFlagsMutuallyExclusive("root", "docker-archive")
	cmd.MarkFlagsMutuallyExclusive("root", "oci-layout")
	return cmd
}

func newPack() *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use:   "pack PROGRAM",
		Short: "Write an image of one static program",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "/" + filepath.Base(args[0])
			entries := []entry{{path: name, source: args[0], mode: 0o755}}
			return o.write(cmd, entries, config{architecture: runtime.GOARCH, entrypoint: []string{name}})
		},
	}
	o.register(cmd.Flags())
	cmd.Flags().StringVar(&o.tag, "tag", "", "name and tag")
	cmd.MarkFlagsOneRequired("docker-archive", "oci-layout")
	_ = cmd.MarkFlagRequired("tag") // fails only for a flag that is not there
	return cmd
}

// output names the files to write and the image's tag.
type output struct {
	dockerArchive, ociLayout, root, tag string
}

func (o *output) register(f *pflag.FlagSet) {
	f.StringVar(&o.dockerArchive, "docker-archive", "", "file to write, for docker load, podman load, kind load and ctr images import")
	f.StringVar(&o.ociLayout, "oci-layout", "", "folder to write, for skopeo, crane and oras")
}

// write writes the image in the formats asked for and prints its digest.
func (o *output) write(cmd *cobra.Command, entries []entry, c config) error {
	image, err := newImage(entries, c)
	if err != nil {
		return err
	}
	if o.dockerArchive != "" {
		if err := writeDockerArchive(o.dockerArchive, o.tag, image); err != nil {
			return err
		}
	}
	if o.ociLayout != "" {
		if err := writeOCILayout(o.ociLayout, o.tag, image); err != nil {
			return err
		}
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", o.tag, digest)
	return err
}

// defaultSource returns the folder of the program's module, seen from hack/image.
func defaultSource() string { return filepath.Join("..", "..") }
