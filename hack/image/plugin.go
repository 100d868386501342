package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
)

// plugin returns the program that kubectl runs as `kubectl acclaim`. It is in no image.
func plugin() program { return program{"kubectl-acclaim", "./operator/kubectl-acclaim", "main"} }

func newPlugin() *cobra.Command {
	var p product
	var platforms []string
	cmd := &cobra.Command{
		Use:   "plugin FOLDER",
		Short: "Write the plugin of kubectl into a folder: an archive for each platform and the manifest for Krew",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.complete(cmd.Context()).writePlugin(cmd.Context(), args[0], platforms)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.source, "source", defaultSource(), "folder of the module")
	f.StringVar(&p.version, "version", "", "version in the program and the names (default: from git describe)")
	f.StringVar(&p.revision, "revision", "", "commit in the program (default: from git)")
	f.StringSliceVar(&platforms, "platforms", nil, "SYSTEM/ARCHITECTURE of the archives, by their names in Go")
	_ = cmd.MarkFlagRequired("platforms") // fails only for a flag that is not there
	return cmd
}

// pluginArchive is the archive for one platform.
type pluginArchive struct {
	System, Architecture, Program string
	Name, SHA256                  string
}

// release returns the version as the names of files have it.
func (p product) release() string { return strings.TrimPrefix(p.version, "v") }

func (p product) writePlugin(ctx context.Context, folder string, platforms []string) error {
	var archives []pluginArchive
	for _, platform := range platforms {
		system, architecture, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("%q is not SYSTEM/ARCHITECTURE, as in linux/amd64", platform)
		}
		a := pluginArchive{System: system, Architecture: architecture, Program: plugin().name,
			Name: fmt.Sprintf("%s-%s-%s-%s.tar.gz", plugin().name, p.release(), system, architecture)}
		if system == "windows" {
			a.Program += ".exe"
		}
		content, err := p.packPlugin(ctx, a)
		if err != nil {
			return err
		}
		a.SHA256 = fmt.Sprintf("%x", sha256.Sum256(content))
		if err := os.WriteFile(filepath.Join(folder, a.Name), content, 0o644); err != nil {
			return err
		}
		archives = append(archives, a)
	}
	manifest, err := p.krewManifest(archives)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "acclaim-"+p.release()+".krew.yaml"), manifest, 0o644)
}

// packPlugin builds the program for a platform and returns the archive with it.
func (p product) packPlugin(ctx context.Context, a pluginArchive) ([]byte, error) {
	folder, err := os.MkdirTemp("", "acclaim-plugin-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, a.Program)
	if err := p.compile(ctx, plugin(), a.System, a.Architecture, file); err != nil {
		return nil, err
	}
	var content bytes.Buffer
	compressed := gzip.NewWriter(&content)
	if err := writeLayer(compressed, []entry{
		{path: "/LICENSE", source: filepath.Join(p.source, "LICENSE"), mode: 0o644},
		{path: "/" + a.Program, source: file, mode: 0o755},
	}); err != nil {
		return nil, err
	}
	err = compressed.Close()
	return content.Bytes(), err
}

// krewTemplate is the manifest with which Krew, the package manager of kubectl's plugins,
// installs the archives of a release.
const krewTemplate = `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: acclaim
spec:
  version: v{{.Release}}
  homepage: https://github.com/acclaim-dev/acclaim
  shortDescription: Look after Acclaim, a backend for streaming-platform extensions
  description: |
    Shows the Backends, Extensions and Polls of a cluster as a tree, problems first,
    collects what a report of a defect needs, and casts and watches votes.
  platforms:
{{- range .Archives}}
  - selector:
      matchLabels:
        os: {{.System}}
        arch: {{.Architecture}}
    uri: https://github.com/acclaim-dev/acclaim/releases/download/v{{$.Release}}/{{.Name}}
    sha256: {{.SHA256}}
    bin: {{.Program}}
    files:
    - from: {{.Program}}
      to: .
    - from: LICENSE
      to: .
{{- end}}
`

func (p product) krewManifest(archives []pluginArchive) ([]byte, error) {
	parsed, err := template.New("krew").Parse(krewTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = parsed.Execute(&b, struct {
		Release  string
		Archives []pluginArchive
	}{p.release(), archives})
	return b.Bytes(), err
}
