package docs

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// The addresses in the documents.
const (
	apiAddress   = "http://127.0.0.1:8080/v1"
	adminAddress = "http://127.0.0.1:9090"
)

func TestDocuments(t *testing.T) {
	folder := t.TempDir()
	program, err := harness.BuildProgram(t.Context(), folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := harness.BuildCommand(t.Context(), folder, "operator/kubectl-acclaim")
	if err != nil {
		t.Fatal(err)
	}
	blocks := readBlocks(t)
	t.Run("commands", func(t *testing.T) { testCommands(t, newChecker(t, program, plugin), blocks) })
	t.Run("mistakes", func(t *testing.T) { testMistakes(t, newChecker(t, program, plugin)) })
	t.Run("run", func(t *testing.T) { testRun(t, program, blocks) })
}

// testCommands checks every command of every document.
func testCommands(t *testing.T, c *checker, blocks []block) {
	checked := 0
	for _, b := range blocks {
		commands, err := parseCommands(b)
		if err != nil {
			t.Errorf("%s:%d: %v", b.file, b.line, err)
		}
		for _, command := range commands {
			checked++
			if err := c.check(t.Context(), command.arguments); err != nil {
				t.Errorf("%s:%d: %s: %v", b.file, command.line, strings.Join(command.arguments, " "), err)
			}
		}
	}
	if checked == 0 {
		t.Error("no document has a command")
	}
}

// testMistakes checks that a command with a mistake is found.
func testMistakes(t *testing.T, c *checker) {
	for _, text := range []string{
		"acclaim sreve", "acclaim serve --no-such-flag", "go run ./services token --rule viewer", "go run ./nowhere",
		"make nothing", "make test NO_SUCH_VARIABLE=1", "curl $API/votes", "curl -X PATCH $API/vote",
		"curl http://127.0.0.1:9090/erased", "kubectl apply -f nowhere.yaml", "kubectl acclaim sttaus", "kubectl acclaim status --everything", "helm install acclaim charts/nowhere",
		"helm install acclaim charts/acclaim --set image.tga=dev", "frobnicate", "f() { make nothing; }", "x=$(make nothing)", "sudo -u acclaim acclaim sreve",
	} {
		commands, err := parseCommands(block{text: text})
		if err != nil || len(commands) == 0 {
			t.Fatalf("%s: %v", text, err)
		}
		if err := c.check(t.Context(), commands[len(commands)-1].arguments); err == nil {
			t.Errorf("%s: no mistake was found", text)
		}
	}
}

// checker holds the things that commands refer to.
type checker struct {
	program  string // acclaim, built
	plugin   string // kubectl-acclaim, built
	makefile string
	routes   map[string]map[string]any // methods by path
	values   map[string]any            // of the chart
}

func newChecker(t *testing.T, program, plugin string) *checker {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	c := &checker{program: program, plugin: plugin, makefile: string(makefile)}
	readYAML(t, "api/openapi.yaml", &api)
	readYAML(t, "charts/acclaim/values.yaml", &c.values)
	c.routes = api.Paths
	return c
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, file))
	if err == nil {
		err = yaml.Unmarshal(content, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// check returns an error if a command cannot work.
func (c *checker) check(ctx context.Context, arguments []string) error {
	switch name, rest := arguments[0], arguments[1:]; name {
	case "acclaim", "bin/acclaim":
		return checkProgram(ctx, c.program, rest)
	case "go":
		return c.checkGo(ctx, rest)
	case "make":
		return c.checkMake(rest)
	case "curl":
		return c.checkCurl(rest)
	case "kubectl":
		if len(rest) > 0 && rest[0] == "acclaim" {
			return checkProgram(ctx, c.plugin, rest[1:])
		}
		return checkFiles(rest, "-f", "--filename")
	case "helm":
		return c.checkHelm(rest)
	case "sudo":
		if rest[0] == "-u" {
			rest = rest[2:]
		}
		return c.check(ctx, rest)
	case ".ci/run":
		return nil
	default:
		others := []string{"cd", "docker", "dpkg", "cosign", "echo", "export", "git", "grep", "gunzip", "gzip", "jq", "kill", "kind", "token", "open", "cat", "head", "openssl", "base64", "python3", "chown", "cp", "install", "mkdir", "mv", "systemctl", "useradd"}
		if !slices.Contains(others, name) {
			return fmt.Errorf("%s is not known to hack/docs", name)
		}
		return nil
	}
}

// checkProgram has a program parse the arguments: it refuses commands and flags
// that it does not have before it prints its help.
func checkProgram(ctx context.Context, program string, arguments []string) error {
	output, err := exec.CommandContext(ctx, program, append(slices.Clone(arguments), "--help")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

func (c *checker) checkGo(ctx context.Context, arguments []string) error {
	at := slices.IndexFunc(arguments, func(s string) bool { return strings.HasPrefix(s, "./") })
	switch {
	case at < 0:
		return nil
	case arguments[0] == "run" && arguments[at] == "./services":
		return checkProgram(ctx, c.program, arguments[at+1:])
	}
	_, err := os.Stat(filepath.Join(root, strings.TrimSuffix(arguments[at], "/...")))
	return err
}

func (c *checker) checkMake(arguments []string) error {
	for _, argument := range arguments {
		pattern := `(?m)^` + regexp.QuoteMeta(argument) + `:`
		if variable, _, ok := strings.Cut(argument, "="); ok {
			pattern = `\$\(` + regexp.QuoteMeta(variable) + `\)`
		}
		if !regexp.MustCompile(pattern).MatchString(c.makefile) {
			return fmt.Errorf("the Makefile has no %s", argument)
		}
	}
	return nil
}

func (c *checker) checkCurl(arguments []string) error {
	method, address := "get", ""
	for i, argument := range arguments {
		switch {
		case argument == "-X" && i+1 < len(arguments):
			method = strings.ToLower(arguments[i+1])
		case (argument == "-d" || argument == "--data") && !slices.Contains(arguments, "-X"):
			method = "post"
		case strings.HasPrefix(argument, "http"):
			address = argument
		}
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return err
	}
	if path, ok := strings.CutPrefix(strings.TrimPrefix(parsed.Path, "/sandbox"), "/v1"); ok {
		if c.routes[path][method] == nil {
			return fmt.Errorf("openapi.yaml has no %s of %s", method, path)
		}
		return nil
	}
	if strings.HasPrefix(parsed.Path, "/log/") && c.routes["/log/{file}"][method] != nil {
		return nil
	}
	admin := []string{"get /healthz", "get /readyz", "get /metrics", "post /erase", "post /purge", "get /export"}
	if !slices.Contains(admin, method+" "+parsed.Path) {
		return fmt.Errorf("no listener has %s of %s", method, parsed.Path)
	}
	return nil
}

func (c *checker) checkHelm(arguments []string) error {
	for i, argument := range arguments {
		if strings.HasPrefix(argument, "charts/") {
			if _, err := os.Stat(filepath.Join(root, argument)); err != nil {
				return err
			}
		}
		if argument != "--set" || i+1 == len(arguments) {
			continue
		}
		for assignment := range strings.SplitSeq(arguments[i+1], ",") {
			key, _, _ := strings.Cut(assignment, "=")
			if !hasKey(c.values, strings.Split(key, ".")) {
				return fmt.Errorf("values.yaml has no %s", key)
			}
		}
	}
	return checkFiles(arguments, "-f", "--values")
}

// hasKey reports whether values have a key. An empty map takes any.
func hasKey(values map[string]any, path []string) bool {
	value, ok := values[path[0]]
	if !ok || len(path) == 1 {
		return ok || len(values) == 0
	}
	below, _ := value.(map[string]any)
	return below != nil && hasKey(below, path[1:])
}

// checkFiles returns an error if a file that one of the flags names is missing.
func checkFiles(arguments []string, flags ...string) error {
	for i := range len(arguments) - 1 {
		file := arguments[i+1]
		if !slices.Contains(flags, arguments[i]) || file == "-" || strings.Contains(file, "://") {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, file)); err != nil {
			return err
		}
	}
	return nil
}
