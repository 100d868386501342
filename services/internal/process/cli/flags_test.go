package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/acclaim-dev/acclaim/services/internal/process/app"
)

// The flag goes before the variable, and neither takes a word that it does not know.
func TestLogRequests(t *testing.T) {
	for _, test := range []struct {
		variable  string
		arguments []string
		want, err string
	}{
		{"", nil, "", ""},
		{"off", nil, "off", ""},
		{"off", []string{"--log-requests", "all"}, "all", ""},
		{"", []string{"--log-requests=sampled"}, "sampled", ""},
		{"some", nil, "", `ACCLAIM_LOG_REQUESTS: "some" is none of all, sampled and off`},
		{"", []string{"--log-requests", "ALL"}, "", `"ALL" is none of all, sampled and off`},
	} {
		t.Setenv(requestsVariable, test.variable)
		var flags serveFlags
		set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		flags.register(set)
		err := set.Parse(test.arguments)
		var config app.Config
		if err == nil {
			config, err = flags.config(io.Discard, nil, nil)
		}
		if err == nil && (test.err != "" || string(config.LogRequests) != test.want) || err != nil && (test.err == "" || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%q and %q: %q, %v", test.variable, test.arguments, config.LogRequests, err)
		}
	}
}
