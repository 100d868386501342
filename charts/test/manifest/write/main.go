// Write prints a folder of config as one file for `kubectl apply`:
//
//	write CONFIG FOLDER IMAGE:TAG
package main

import (
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/acclaim-dev/acclaim/charts/test/manifest"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "write: %v\n", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 3 {
		return fmt.Errorf("%d arguments, want CONFIG FOLDER IMAGE:TAG", len(arguments))
	}
	var image types.Image
	i := strings.LastIndex(arguments[2], ":")
	if i < 0 {
		return fmt.Errorf("the image %q has no tag", arguments[2])
	}
	image.NewName, image.NewTag = arguments[2][:i], arguments[2][i+1:]
	built, err := manifest.Build(arguments[0], arguments[1], image)
	if err != nil {
		return err
	}
	text, err := built.AsYaml()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}
