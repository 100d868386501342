package main

import (
	"errors"
	"flag"
	"strings"
	"testing"
)

func TestNamedDatabase(t *testing.T) {
	for uri, want := range map[string]string{
		"mongodb://127.0.0.1:27017":                     "mongodb://127.0.0.1:27017/acclaim_bench_x?",
		"mongodb://u:p%40@a:1,b:2/db?replicaSet=rs":     "mongodb://u:p%40@a:1,b:2/acclaim_bench_x?authSource=db&replicaSet=rs",
		"mongodb+srv://u:p@c.example.com/?authSource=s": "mongodb+srv://u:p@c.example.com/acclaim_bench_x?authSource=s",
	} {
		if got := (&benchDatabase{uri: uri}).scopedName("x"); got != want {
			t.Errorf("%s: %s, want %s", uri, got, want)
		}
	}
}

// A URI of the environment is used and never shown.
func TestURIOfTheEnvironment(t *testing.T) {
	t.Setenv("MONGODB_URI", "mongodb://u:hunter2@h/")
	o, err := parseOptions(nil, t.Output())
	if err != nil || o.mongodb != "mongodb://u:hunter2@h/" {
		t.Errorf("%q, %v", o.mongodb, err)
	}
	var help strings.Builder
	if _, err := parseOptions([]string{"-help"}, &help); !errors.Is(err, flag.ErrHelp) || strings.Contains(help.String(), "hunter2") {
		t.Errorf("%v, %s", err, &help)
	}
}
