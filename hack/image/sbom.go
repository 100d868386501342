package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/spf13/cobra"
)

func newSBOM() *cobra.Command {
	var version string
	cmd := &cobra.Command{
		Use:   "sbom PROGRAM...",
		Short: "Print the software bill of materials of Go programs, as CycloneDX JSON",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, programs []string) error {
			p := product{source: defaultSource(), version: version}.complete(cmd.Context())
			return writeSBOM(cmd.OutOrStdout(), p.version, programs)
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "version of the product (default: from git describe)")
	return cmd
}

// writeSBOM writes the modules that are linked into any of the programs, and the
// version of Go. The same programs give the same bytes.
func writeSBOM(w io.Writer, version string, programs []string) error {
	components := map[string]cyclonedx.Component{}
	for _, file := range programs {
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		addComponent(components, "std", info.GoVersion)
		for _, module := range info.Deps {
			linked := linkedModule(module)
			addComponent(components, linked.Path, linked.Version)
		}
	}
	var sorted []cyclonedx.Component
	for _, key := range slices.Sorted(maps.Keys(components)) {
		sorted = append(sorted, components[key])
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &cyclonedx.Component{
		Type: cyclonedx.ComponentTypeApplication, Name: "acclaim", Version: version,
		BOMRef: packageURL("github.com/acclaim-dev/acclaim", version), PackageURL: packageURL("github.com/acclaim-dev/acclaim", version),
	}}
	bom.Components = &sorted
	return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

func addComponent(components map[string]cyclonedx.Component, module, version string) {
	url := packageURL(module, version)
	components[url] = cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, Name: module, Version: version, BOMRef: url, PackageURL: url,
	}
}

func packageURL(module, version string) string { return "pkg:golang/" + module + "@" + version }

// linkedModule returns the module that replaces another, if one does.
func linkedModule(module *debug.Module) *debug.Module {
	if module.Replace != nil {
		return module.Replace
	}
	return module
}
