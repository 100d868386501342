package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/operator/internal/overview"
)

func TestStatusExits(t *testing.T) {
	for name, test := range map[string]struct {
		overview *overview.Overview
		exit     int
	}{
		"all are OK": {&overview.Overview{Total: 1, Roots: []*overview.Node{{Kind: "Poll", Name: "p", State: overview.OK}}}, 0},
		"one is not": {&overview.Overview{Total: 1, Failing: 1, Roots: []*overview.Node{{Kind: "Poll", Name: "p", State: overview.Wrong}}}, 1},
	} {
		for _, form := range []string{treeForm, jsonForm} {
			t.Run(name+" "+form, func(t *testing.T) {
				var out strings.Builder
				if got := exitCode(writeOverview(&out, test.overview, form)); got != test.exit {
					t.Errorf("exit code %d, want %d", got, test.exit)
				}
				var decoded overview.Overview
				if err := json.Unmarshal([]byte(out.String()), &decoded); (err == nil) != (form == jsonForm) {
					t.Errorf("%v: %s", err, out.String())
				}
			})
		}
	}
	if got := exitCode(errors.New("no cluster")); got != 2 {
		t.Errorf("exit code %d of a command that could not do its work, want 2", got)
	}
}

// A mistake in the arguments is found before the cluster is asked.
func TestStatusArguments(t *testing.T) {
	for _, arguments := range []string{"status a b", "status a -A", "status -o table", "status --namespaces x", "poll open"} {
		c := newCommand()
		c.SetArgs(append(strings.Fields(arguments), "--kubeconfig", "/nowhere"))
		if err := c.ExecuteContext(t.Context()); err == nil || strings.Contains(err.Error(), "nowhere") {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}
