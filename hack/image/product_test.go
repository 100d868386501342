package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// dockerfile is what a Dockerfile says of its last stage.
type dockerfile struct {
	Copied     []string // paths in the image, an owner other than root before them
	Labels     map[string]string
	User       string
	WorkingDir string
	Entrypoint string
}

// The Dockerfile and this program write the same image.
func TestDockerfile(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1000000000")
	source := filepath.Join("..", "..")
	p := product{source: source, architecture: "amd64", version: "1.2.3"}
	c, err := p.config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := dockerfile{
		Labels:     c.labels,
		User:       c.user,
		WorkingDir: c.workingDir,
		Entrypoint: `["` + strings.Join(c.entrypoint, `", "`) + `"]`,
	}
	for _, e := range p.contents("") {
		owner := ""
		if e.owner != 0 {
			owner = c.user + " "
		}
		want.Copied = append(want.Copied, owner+e.path)
	}
	arguments := map[string]string{"$VERSION": p.version, "$REVISION": c.labels["org.opencontainers.image.revision"],
		"$CREATED": time.Unix(1e9, 0).UTC().Format(time.RFC3339)}
	if diff := cmp.Diff(want, readDockerfile(t, filepath.Join(source, "Dockerfile"), arguments)); diff != "" {
		t.Errorf("Dockerfile (-want +got):\n%s", diff)
	}
}

func readDockerfile(t *testing.T, file string, arguments map[string]string) dockerfile {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, stage, _ := strings.Cut(string(content), "\nFROM scratch\n")
	d := dockerfile{Labels: map[string]string{}}
	for line := range strings.Lines(strings.ReplaceAll(stage, "\\\n", " ")) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch instruction {
		case "COPY":
			d.Copied = append(d.Copied, copied(rest)...)
		case "LABEL":
			for name, value := range pairs(rest) {
				if argument, ok := arguments[value]; ok {
					value = argument
				}
				d.Labels[name] = value
			}
		case "USER":
			d.User = rest
		case "WORKDIR":
			d.WorkingDir = rest
		case "ENTRYPOINT":
			d.Entrypoint = rest
		}
	}
	return d
}

// copied returns the paths that a COPY makes in the image.
func copied(rest string) []string {
	words := strings.Fields(rest)
	owner := ""
	for strings.HasPrefix(words[0], "--") {
		if user, ok := strings.CutPrefix(words[0], "--chown="); ok {
			owner = user + " "
		}
		words = words[1:]
	}
	sources, target := words[:len(words)-1], words[len(words)-1]
	var paths []string
	for _, source := range sources {
		if strings.HasSuffix(target, "/") {
			source = path.Join(target, path.Base(source))
		} else {
			source = target
		}
		paths = append(paths, owner+source)
	}
	return paths
}

// pairs returns the names and quoted values of a LABEL.
func pairs(rest string) map[string]string {
	all := map[string]string{}
	for {
		name, quoted, ok := strings.Cut(strings.TrimSpace(rest), `="`)
		if !ok {
			return all
		}
		all[name], rest, _ = strings.Cut(quoted, `"`)
	}
}
