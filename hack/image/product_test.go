package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// dockerfile holds the instructions of the last stage of a Dockerfile.
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
	p := product{source: source, architecture: "amd64", version: "1.2.3", revision: "abc"}
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
	arguments := map[string]string{"$VERSION": p.version, "$REVISION": p.revision,
		"$CREATED": time.Unix(1e9, 0).UTC().Format(time.RFC3339)}
	if diff := cmp.Diff(want, readDockerfile(t, filepath.Join(source, "Dockerfile"), arguments)); diff != "" {
		t.Errorf("Dockerfile (-want +got):\n%s", diff)
	}
}

// A program that has the variables prints the version and the commit.
func TestLinkFlags(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":  "module sample\n\ngo 1.26\n",
		"main.go": "package main\n\nvar version, commit string\n\nfunc main() { print(version, \" \", commit) }\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := product{version: "v1.2.3", revision: "abc"}
	command := exec.CommandContext(t.Context(), "go", "run", "-ldflags", p.linkFlags(program{versioned: "main"}), ".")
	command.Dir = folder
	output, err := command.CombinedOutput()
	if err != nil || string(output) != "v1.2.3 abc" {
		t.Errorf("printed %q, %v", output, err)
	}
}

// Each program has the variables that the linker sets: it ignores one that is not
// there.
func TestPrograms(t *testing.T) {
	source := filepath.Join("..", "..")
	for _, program := range append(programs(), plugin()) {
		folder := program.pkg
		if program.versioned != "main" {
			folder = strings.TrimPrefix(program.versioned, "github.com/acclaim-dev/acclaim/")
		}
		declared := declaredStrings(t, filepath.Join(source, folder))
		for _, name := range []string{"version", "commit"} {
			if !declared[name] {
				t.Errorf("%s: %s has no variable %s string", program.name, program.versioned, name)
			}
		}
	}
}

// declaredStrings returns the package's variables of type string that have no
// initial value.
func declaredStrings(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok || general.Tok != token.VAR {
				continue
			}
			for _, spec := range general.Specs {
				value := spec.(*ast.ValueSpec)
				kind, ok := value.Type.(*ast.Ident)
				if !ok || kind.Name != "string" || value.Values != nil {
					continue
				}
				for _, name := range value.Names {
					declared[name.Name] = true
				}
			}
		}
	}
	return declared
}

// A clone has the version of its origin, whatever the number of objects.
func TestComplete(t *testing.T) {
	origin, clone := filepath.Join(t.TempDir(), "origin"), filepath.Join(t.TempDir(), "clone")
	git := func(folder string, arguments ...string) {
		t.Helper()
		arguments = append([]string{"-C", folder, "-c", "user.name=test", "-c", "user.email=test@example.com"}, arguments...)
		if output, err := exec.CommandContext(t.Context(), "git", arguments...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", arguments, err, output)
		}
	}
	git(".", "init", "-q", origin)
	git(origin, "commit", "-q", "--allow-empty", "-m", "first")
	if got := (product{source: origin}).complete(t.Context()); len(got.version) != 12 || !strings.HasPrefix(got.revision, got.version) {
		t.Errorf("without a tag: %q of %q", got.version, got.revision)
	}
	git(origin, "tag", "v1.2.3")
	git(origin, "commit", "-q", "--allow-empty", "-m", "second")
	git(".", "clone", "-q", origin, clone)
	want, got := (product{source: origin}).complete(t.Context()), (product{source: clone}).complete(t.Context())
	if got.version != want.version || got.revision != want.revision || got.version != "v1.2.3-1-g"+got.revision[:12] {
		t.Errorf("the clone is %q of %q, the origin %q of %q", got.version, got.revision, want.version, want.revision)
	}
	if got := (product{source: t.TempDir()}).complete(t.Context()); got.version != "dev" || got.revision != "" {
		t.Errorf("outside of a repository: %q of %q", got.version, got.revision)
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
