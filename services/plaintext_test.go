package main

import (
	"strings"
	"testing"
)

// A program whose tokens cross a network without TLS says so. It ends here, as there is no registry.
func TestWarnsOfPlainText(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		pod  string
		want bool
	}{
		"loopback":      {args: []string{"--listen", "127.0.0.1:0"}},
		"public":        {args: []string{"--listen", "0.0.0.0:0"}, want: true},
		"games":         {args: []string{"--listen", "127.0.0.1:0", "--gamelink-listen", ":0"}, want: true},
		"TLS":           {args: []string{"--listen", ":0", "--tls-cert", "a", "--tls-key", "b"}},
		"behind proxy":  {args: []string{"--listen", ":0", "--trusted-proxies", "203.0.113.7/32"}},
		"a pod":         {args: []string{"--listen", ":0"}, pod: "10.0.0.1"},
		"public admins": {args: []string{"--listen", "127.0.0.1:0", "--admin-listen", ":0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", test.pod)
			_, problem, status := runCommand(t, nil, append([]string{"serve", "--extensions", "nowhere.yaml"}, test.args...)...)
			if status != exitFailed || strings.Contains(problem, "tokens travel without TLS") != test.want {
				t.Errorf("status %d, %s", status, problem)
			}
		})
	}
}
