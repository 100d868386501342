package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The first way that succeeds is taken; each that fails is reported with its reason.
func TestFindFirst(t *testing.T) {
	answer := func(folder string, err error) func(context.Context, io.Writer) (string, error) {
		return func(context.Context, io.Writer) (string, error) { return folder, err }
	}
	refused := errors.New("refused")
	tests := map[string]struct {
		ways   []sourceOption
		folder string
		report string
	}{
		"first": {[]sourceOption{{"built", answer("/a", nil)}, {"released", answer("/b", nil)}},
			"/a", "envtest: etcd and kube-apiserver are in /a, built\n"},
		"does not apply": {[]sourceOption{{"built", answer("", errNone)}, {"released", answer("/b", nil)}},
			"/b", "envtest: etcd and kube-apiserver are in /b, released\n"},
		"fails": {[]sourceOption{{"released", answer("", refused)}, {"built", answer("/c", nil)}},
			"/c", "envtest: not released: refused\nenvtest: etcd and kube-apiserver are in /c, built\n"},
		"all fail": {[]sourceOption{{"released", answer("", refused)}}, "", "envtest: not released: refused\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var report strings.Builder
			folder, err := findFirst(t.Context(), &report, test.ways)
			if folder != test.folder || (err == nil) != (folder != "") {
				t.Errorf("folder %q, error %v", folder, err)
			}
			if diff := cmp.Diff(test.report, report.String()); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

// KUBEBUILDER_ASSETS wins, and is an error where programs are missing.
func TestFindVariable(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(Variable, folder)
	if _, err := Find(t.Context(), io.Discard); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
	writePrograms(t, folder)
	if got, err := Find(t.Context(), io.Discard); got != folder || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func writePrograms(t *testing.T, folder string) {
	t.Helper()
	for _, p := range programs() {
		if err := os.WriteFile(filepath.Join(folder, p.name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// Every script stands for setup-envtest.
func TestDownload(t *testing.T) {
	complete, empty := t.TempDir(), t.TempDir()
	writePrograms(t, complete)
	tests := map[string]struct {
		script string
		folder string
		err    string // part of it
	}{
		"downloaded earlier": {`case "$*" in *--installed-only) echo ` + complete + `;; *) exit 9;; esac`, complete, ""},
		"downloaded":         {`case "$*" in *--installed-only) exit 2;; use*) echo ` + complete + `;; esac`, complete, ""},
		"no network":         {`echo trace >&2; echo no such host >&2; exit 1`, "", "no such host"},
		"no answer":          {`case "$*" in list*) sleep 60;; *) exit 2;; esac`, "", "no answer in time"},
		"incomplete":         {`case "$*" in *--installed-only) exit 2;; use*) echo ` + empty + `;; esac`, "", "kube-apiserver"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "setup-envtest")
			if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\n%s\n", test.script), 0o700); err != nil {
				t.Fatal(err)
			}
			d := newDownload("", t.TempDir())
			d.tool = func(context.Context) (string, error) { return script, nil }
			d.answerTimeout = time.Second
			folder, err := d.findRelease(t.Context(), io.Discard)
			if test.err == "" && (folder != test.folder || err != nil) {
				t.Errorf("%q, %v", folder, err)
			}
			if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error is %v, want one about %q", err, test.err)
			}
		})
	}
}
