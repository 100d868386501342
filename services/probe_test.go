package main

import "testing"

func TestProbe(t *testing.T) {
	p := startProgram(t, t.TempDir(), "serve")
	for name, c := range map[string]struct {
		args []string
		ok   bool
	}{
		"ready":          {[]string{p.admin + "/readyz"}, true},
		"other status":   {[]string{p.base + "/vote"}, false},
		"that status":    {[]string{"--status", "401", p.base + "/vote"}, true},
		"nobody listens": {[]string{"http://127.0.0.1:1/"}, false},
		"no URL":         {[]string{"::"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			command := newCommand()
			command.SetOut(t.Output())
			command.SetErr(t.Output())
			command.SetArgs(append([]string{"probe"}, c.args...))
			if err := command.Execute(); (err == nil) != c.ok {
				t.Errorf("error %v", err)
			}
		})
	}
}
