package harness

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestReadyLine(t *testing.T) {
	out := "a word before\nready base=http://127.0.0.1:81/v1 sandbox=http://127.0.0.1:81/sandbox/v1 admin=http://127.0.0.1:82\nmore\n"
	var p Process
	if err := p.parseReady(readyLine(strings.NewReader(out))); err != nil {
		t.Fatal(err)
	}
	if p.Host != "127.0.0.1:81" || p.Base != "http://127.0.0.1:81/v1" || p.Sandbox != "http://127.0.0.1:81/sandbox/v1" || p.Admin != "http://127.0.0.1:82" {
		t.Errorf("parsed as %+v", p)
	}
	if err := p.parseReady(readyLine(strings.NewReader("an error\n"))); err == nil {
		t.Error("no error from output without a ready line")
	}
}

// A program that ends without the line, or by a signal once it is ready, is not taken for
// one that runs.
func TestStartProgram(t *testing.T) {
	if _, err := StartProgram(t.Context(), exec.CommandContext(t.Context(), "sh", "-c", "echo no; exit 3"), time.Minute); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a program that fails: %v", err)
	}
	p, err := StartProgram(t.Context(), exec.CommandContext(t.Context(), "sh", "-c", "echo ready base=http://127.0.0.1:81/v1; exec sleep 600"), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if ended, failure := p.HasExited(); ended {
		t.Errorf("it has ended: %v", failure)
	}
	if err := p.Stop(); err == nil {
		t.Error("a program that a signal ended has no failure")
	}
	if ended, failure := p.HasExited(); !ended || failure == nil {
		t.Errorf("after its end: %v, %v", ended, failure)
	}
}
