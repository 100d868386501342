package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// addOns names what a cluster of others lacks: an ingress controller, an implementation of the Gateway
// API and the metrics API. Each is a component and a manifest.
func addOns() []string { return []string{"skipper", "traefik", "metrics-server"} }

func newAddOns() *cobra.Command {
	return &cobra.Command{
		Use:   "add-ons FOLDER",
		Short: "Write what a cluster of others lacks into a folder: ingress controller, Gateway and metrics API, as images and manifests",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := checkout(cmd.Context())
			if err != nil {
				return err
			}
			b, err := newBuilder(source, newReport(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			return b.writeAddOns(cmd.Context(), args[0])
		},
	}
}

// writeAddOns writes NAME.tar and manifests/NAME.yaml for each, and the resource definitions of the
// Gateway API into gateway-api/.
func (b builder) writeAddOns(ctx context.Context, folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	values := manifestValues{Ingress: ingressPort, Gateway: gatewayPort, Foreign: true}
	var programs, manifests []string
	for _, name := range addOns() {
		component, err := findComponent(name)
		if err != nil {
			return err
		}
		built, err := b.buildComponent(ctx, component)
		if err != nil {
			return err
		}
		programs = append(programs, filepath.Join(built, name))
		manifests = append(manifests, name+".yaml")
	}
	if err := renderTemplates("manifests", filepath.Join(folder, "manifests"), values, manifests...); err != nil {
		return err
	}
	archives, err := b.packPrograms(ctx, programs)
	if err != nil {
		return err
	}
	for _, archive := range archives {
		if err := copyFile(archive, filepath.Join(folder, filepath.Base(archive))); err != nil {
			return err
		}
	}
	definitions, err := b.findGatewayAPI(ctx)
	if err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(folder, "gateway-api"), os.DirFS(definitions))
}

func findComponent(name string) (component, error) {
	for _, c := range components() {
		if c.name == name {
			return c, nil
		}
	}
	return component{}, fmt.Errorf("there is no component %s", name)
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
