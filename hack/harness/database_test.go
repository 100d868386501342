package harness

import (
	"os/exec"
	"testing"
)

// A server that prints its URI runs until its input ends; one that prints none is an error.
func TestStartDatabase(t *testing.T) {
	d, err := startDatabase(exec.CommandContext(t.Context(), "sh", "-c", "echo mongodb://127.0.0.1:1/; exec cat"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Stop(); err != nil || d.URI != "mongodb://127.0.0.1:1/" {
		t.Errorf("%q, %v", d.URI, err)
	}
	if _, err := startDatabase(exec.CommandContext(t.Context(), "sh", "-c", "exit 3")); err == nil {
		t.Error("a server that ends at once is no error")
	}
}
