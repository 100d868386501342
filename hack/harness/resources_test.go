package harness

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestParseProcess(t *testing.T) {
	tests := map[string]struct {
		stat   string
		parent int
		spent  time.Duration
	}{
		"plain":           {"7 (acclaim) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20", 1, 2 * time.Second},
		"ended children":  {"7 (postgres) S 3 7 7 0 -1 4194560 1 0 0 0 150 50 70 30 20", 3, 3 * time.Second},
		"blanks in names": {"7 (a b) c) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20", 1, 2 * time.Second},
		"cut off":         {"7 (acclaim) S 1 7", 0, 0},
		"empty":           {"", 0, 0},
	}
	for name, test := range tests {
		if parent, spent := parseProcess(test.stat); parent != test.parent || spent != test.spent {
			t.Errorf("%s: %d, %v, want %d, %v", name, parent, spent, test.parent, test.spent)
		}
	}
}

func TestParseStatus(t *testing.T) {
	resident, peak := parseStatus("Name:\tacclaim\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t9\n")
	if resident != 1<<20 || peak != 2<<20 {
		t.Errorf("%d and %d, want 1 and 2 MiB", resident, peak)
	}
}

func TestParseMetrics(t *testing.T) {
	text := "# HELP reads Reads.\nreads{of=\"polls\"} 3\nreads{of=\"all } 1\"} 4\nalive 1e+06\n"
	got, err := ParseMetrics(strings.NewReader(text))
	if err != nil || got.Sum("reads", "") != 7 || got.Sum("reads", `of="polls"`) != 3 || got.Sum("alive", "") != 1e6 || got.Sum("read", "") != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := ParseMetrics(strings.NewReader("reads many\n")); err == nil {
		t.Error("a value that is no number is none")
	}
}

func TestTreeTime(t *testing.T) {
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); { // uses a processor
	}
	if spent := TreeTime(os.Getpid()); spent <= 0 || spent > time.Hour {
		t.Errorf("this process has used %s", spent)
	}
}
