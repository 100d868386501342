package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// root is the folder of the repository.
const root = "../.."

// commands returns the blocks of shell commands in a chapter of the document on backups, for
// the namespace of the suite in place of that of the document.
func (w *world) commands(chapter string) []string {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(root, backups))
	Expect(err).NotTo(HaveOccurred())
	_, text, found := strings.Cut(string(content), "\n## "+chapter+"\n")
	Expect(found).To(BeTrue(), "%s has no chapter %q", backups, chapter)
	text, _, _ = strings.Cut(text, "\n## ")
	var blocks []string
	for _, block := range regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, strings.ReplaceAll(block[1], "--namespace acclaim ", "--namespace "+w.namespace+" "))
	}
	Expect(blocks).NotTo(BeEmpty(), "%s, %s", backups, chapter)
	return blocks
}

// retries has curl ask again until a port-forward that was begun just before listens,
// as a person does, and ends what runs in the background.
const retries = `set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
curl() { command curl --silent --show-error --fail --retry 100 --retry-connrefused --retry-delay 1 --write-out '\n' "$@"; }
`

// follow types blocks of commands into one shell, in the folder of the repository, and
// returns what they print.
func (w *world) follow(ctx context.Context, environment []string, blocks ...string) string {
	GinkgoHelper()
	shell := exec.CommandContext(ctx, "bash")
	shell.Dir = root
	shell.Env = append(os.Environ(), environment...)
	shell.Stdin = strings.NewReader(retries + strings.Join(blocks, "\n"))
	output, err := shell.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s\n%s", strings.Join(blocks, "\n"), output)
	return string(output)
}

// answers returns the lines that are JSON objects.
func answers(output string) []string {
	var found []string
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "{") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// problems returns the numbers of problems in the tables of verifications: the last column. What
// another command says just after a table may end with a number, too.
func problems(output string) []int {
	var found []int
	inside, width := false, 0
	for line := range strings.Lines(output) {
		cells := strings.Fields(line)
		if len(cells) > 1 && cells[len(cells)-1] == "problems" {
			found, inside, width = append(found, 0), true, len(cells)
			continue
		}
		var count int
		if inside = inside && len(cells) == width; inside {
			var err error
			count, err = strconv.Atoi(cells[len(cells)-1])
			inside = err == nil
		}
		if inside {
			found[len(found)-1] += count
		}
	}
	return found
}
