package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const oneMachine = "../config/samples/one-machine"

// unitCommand returns the arguments that a systemd unit gives to the program.
func unitCommand(t *testing.T, unit string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(oneMachine, unit))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if command, ok := strings.CutPrefix(line, "ExecStart=/usr/local/bin/acclaim "); ok {
			return strings.Fields(command)
		}
	}
	t.Fatalf("%s starts no program", unit)
	return nil
}

// composeCommand returns the arguments that the compose file gives to the program.
func composeCommand(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(oneMachine, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Command []string `json:"command"`
		} `json:"services"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Services["acclaim"].Command
}

// The commands of the samples work with each other: the registry of init, the service, and a
// backup while it runs.
func TestOneMachine(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	place := func(arguments []string) []string {
		arguments = slices.Clone(arguments)
		for i, argument := range arguments {
			for _, folder := range []string{"/etc/", "/var/"} {
				argument = strings.Replace(argument, folder, root+folder, 1)
			}
			arguments[i] = strings.Replace(argument, "=:8080", "=:0", 1)
		}
		return arguments
	}
	registry := filepath.Join(root, "etc", "acclaim", "extensions.yaml")
	initialize(t, nil, registry, "--extension", "mine")
	for _, folder := range []string{"acclaim", "acclaim-backups"} { // StateDirectory
		if err := os.MkdirAll(filepath.Join(root, "var", "lib", folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	served := place(unitCommand(t, "acclaim.service"))
	p := startProgram(t, filepath.Join(root, "replaced"), served[0], served[1:]...)
	token, problem, _ := runCommand(t, nil, "token", "--extensions", registry, "--extension", "mine", "--role", "viewer", "--channel", "1")
	if status, err := p.do("POST", "/vote", strings.TrimSpace(token), `{"value":3}`, nil); err != nil || status != 200 {
		t.Errorf("a vote: status %d, %v, %s", status, err, problem)
	}
	out, problem, status := runCommand(t, nil, place(unitCommand(t, "acclaim-backup.service"))...)
	if status != 0 || !strings.Contains(out, "extensions: 1,") {
		t.Errorf("the backup: status %d, %s%s", status, out, problem)
	}
	contained := place(composeCommand(t))
	startProgram(t, filepath.Join(root, "container"), contained[0], contained[1:]...)
}
