package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page of metrics and log messages must list every metric with its labels, and
// no message that the program does not log.
func TestMetricsAndLogsPage(t *testing.T) {
	page := readFile(t, "../../services/docs/metrics-and-logs.md")
	listed, exported := map[string]string{}, map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(acclaim_[a-z_]+)` \\| \\w+ \\| ([^|]*)\\|").FindAllStringSubmatch(page, -1) {
		listed[row[1]] = strings.NewReplacer("`", "", " ", "").Replace(row[2])
	}
	for _, list := range []string{"../../services/internal/process/app/testdata/metrics.txt", "../../operator/testdata/metrics.txt"} {
		for metric := range strings.FieldsSeq(readFile(t, list)) {
			name, labels, _ := strings.Cut(strings.TrimSuffix(metric, "}"), "{")
			if got, ok := listed[name]; !ok || got != labels {
				t.Errorf("metric %s is listed as %q: %v, want labels %q", name, got, ok, labels)
			}
			exported[name] = true // by the other program perhaps, too
		}
	}
	for name := range listed {
		if exported[name] {
			continue
		}
		t.Errorf("the page lists %s, which no process exports", name)
	}
	logs := page[strings.Index(page, "## Logs"):]
	source := goSource(t, "../../services") + goSource(t, "../../api/tracing")
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (?:error|warn|info) \\|").FindAllStringSubmatch(logs, -1) {
		if !strings.Contains(source, `"`+row[1]+`"`) {
			t.Errorf("the page lists the message %q, which no process logs", row[1])
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// goSource returns all Go files of a folder without its tests.
func goSource(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			all.WriteString(readFile(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
