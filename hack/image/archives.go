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

func newArchives() *cobra.Command {
	var p product
	var platforms []string
	cmd := &cobra.Command{
		Use:   "archives FOLDER",
		Short: "Write the programs for users into a folder: an archive for each platform, the manifest for Krew and the formula for Homebrew",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.complete(cmd.Context()).writeArchives(cmd.Context(), args[0], platforms)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.source, "source", defaultSource(), "folder of the module")
	f.StringVar(&p.version, "version", "", "version in the programs and the names (default: from git describe)")
	f.StringVar(&p.revision, "revision", "", "commit in the programs (default: from git)")
	f.StringSliceVar(&platforms, "platforms", nil, "SYSTEM/ARCHITECTURE of the archives, by their names in Go")
	_ = cmd.MarkFlagRequired("platforms") // fails only for a flag that is not there
	return cmd
}

// archive holds a program for one platform.
type archive struct {
	System, Architecture, Program string
	Name, SHA256                  string
}

// release returns the version as the names of files have it.
func (p product) release() string { return strings.TrimPrefix(p.version, "v") }

// writeArchives writes the server and the plugin of kubectl for each platform, and what
// package managers install them by.
func (p product) writeArchives(ctx context.Context, folder string, platforms []string) error {
	server, err := p.writePrograms(ctx, folder, programs()[0], platforms)
	if err != nil {
		return err
	}
	plugins, err := p.writePrograms(ctx, folder, plugin(), platforms)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name, template string
		archives       []archive
	}{
		{"acclaim-" + p.release() + ".krew.yaml", krewTemplate, plugins},
		{"acclaim.rb", homebrewTemplate, server}, // Homebrew knows a formula by the name of its file
	} {
		content, err := p.fill(file.template, file.archives)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, file.name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (p product) writePrograms(ctx context.Context, folder string, program program, platforms []string) ([]archive, error) {
	var archives []archive
	for _, platform := range platforms {
		system, architecture, ok := strings.Cut(platform, "/")
		if !ok {
			return nil, fmt.Errorf("%q is not SYSTEM/ARCHITECTURE, as in linux/amd64", platform)
		}
		a := archive{System: system, Architecture: architecture, Program: program.name,
			Name: fmt.Sprintf("%s-%s-%s-%s.tar.gz", program.name, p.release(), system, architecture)}
		if system == "windows" {
			a.Program += ".exe"
		}
		content, err := p.pack(ctx, program, a)
		if err != nil {
			return nil, err
		}
		a.SHA256 = fmt.Sprintf("%x", sha256.Sum256(content))
		if err := os.WriteFile(filepath.Join(folder, a.Name), content, 0o644); err != nil {
			return nil, err
		}
		archives = append(archives, a)
	}
	return archives, nil
}

// pack builds a program for a platform and returns the archive with it.
func (p product) pack(ctx context.Context, program program, a archive) ([]byte, error) {
	folder, err := os.MkdirTemp("", "acclaim-archive-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, a.Program)
	if err := p.compile(ctx, program, a.System, a.Architecture, file); err != nil {
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

// homebrewTemplate is the formula with which Homebrew installs the server of a release on
// macOS and Linux.
const homebrewTemplate = `class Acclaim < Formula
  desc "Self-hosted backend for streaming-platform extensions"
  homepage "https://github.com/acclaim-dev/acclaim"
  version "{{.Release}}"
  license "Apache-2.0"
{{range .Archives}}{{if ne .System "windows"}}
  if OS.{{if eq .System "darwin"}}mac{{else}}linux{{end}}? && Hardware::CPU.{{if eq .Architecture "arm64"}}arm{{else}}intel{{end}}?
    url "https://github.com/acclaim-dev/acclaim/releases/download/v{{$.Release}}/{{.Name}}"
    sha256 "{{.SHA256}}"
  end
{{end}}{{end}}
  def install
    bin.install "acclaim"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/acclaim version")
  end
end
`

// fill returns the text of a template about archives of this release.
func (p product) fill(text string, archives []archive) ([]byte, error) {
	parsed, err := template.New("release").Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = parsed.Execute(&b, struct {
		Release  string
		Archives []archive
	}{p.release(), archives})
	return b.Bytes(), err
}
