// Package test renders the chart as `helm install` does and looks at what comes
// out. It is a module of its own: Helm's dependencies are not the program's.
package test

import (
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader"
	release "helm.sh/helm/v4/pkg/release/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write what is rendered to testdata")

const chart = "../acclaim"

// cases returns the folders that have values and what they render to.
func cases(t *testing.T) []string {
	t.Helper()
	folders, err := filepath.Glob("testdata/*/values.yaml")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for i := range folders {
		folders[i] = filepath.Dir(folders[i])
	}
	return folders
}

func readValues(t *testing.T, folder string) map[string]any {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict(content, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// render returns the release that `helm install` would make.
func render(values map[string]any) (*release.Release, error) { return renderIn("live", values) }

// renderIn returns that of a namespace.
func renderIn(namespace string, values map[string]any) (*release.Release, error) {
	return renderAs(namespace, "acclaim", values)
}

// renderAs returns that of a name.
func renderAs(namespace, name string, values map[string]any) (*release.Release, error) {
	configuration := action.NewConfiguration(action.ConfigurationSetLogger(slog.NewTextHandler(io.Discard, nil)))
	install := action.NewInstall(configuration)
	install.DryRunStrategy = action.DryRunClient
	install.ReleaseName = name
	install.Namespace = namespace
	install.KubeVersion = &common.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}
	loaded, err := loader.Load(chart)
	if err != nil {
		return nil, err
	}
	made, err := install.Run(loaded, values)
	if err != nil {
		return nil, err
	}
	return made.(*release.Release), nil
}

// manifests returns the objects of a release, hooks included, one text each.
func manifests(r *release.Release) []string {
	var all []string
	for document := range strings.SplitSeq(r.Manifest, "\n---\n") {
		all = append(all, strings.TrimSpace(strings.TrimPrefix(document, "---\n")))
	}
	for _, hook := range r.Hooks {
		all = append(all, "# Hook\n"+strings.TrimSpace(hook.Manifest))
	}
	sort.Strings(all)
	return all
}

// What the chart renders is in testdata, to be read when it changes.
func TestGolden(t *testing.T) {
	for _, folder := range cases(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			r, err := render(readValues(t, folder))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{
				"manifests.yaml": strings.Join(manifests(r), "\n---\n") + "\n",
				"notes.txt":      r.Info.Notes,
			}
			for name, content := range got {
				file := filepath.Join(folder, name)
				if *update {
					if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), content); diff != "" {
					t.Errorf("%s (-want +got); if it is right, run with -update:\n%s", file, diff)
				}
			}
		})
	}
}

// The chart has no warning of `helm lint --strict`, with the values of a case or with its own.
func TestLint(t *testing.T) {
	all := map[string]map[string]any{"own": {}}
	for _, folder := range cases(t) {
		all[filepath.Base(folder)] = readValues(t, folder)
	}
	for name, values := range all {
		t.Run(name, func(t *testing.T) {
			lint := action.NewLint()
			lint.Strict = true
			for _, err := range lint.Run([]string{chart}, values).Errors {
				t.Error(err)
			}
		})
	}
}

// The chart installs the program of its own version.
func TestVersion(t *testing.T) {
	r, err := render(readValues(t, "testdata/trial"))
	if err != nil {
		t.Fatal(err)
	}
	if about := r.Chart.Metadata; about.Version != about.AppVersion {
		t.Errorf("chart %s installs %s", about.Version, about.AppVersion)
	}
}

// A digest counts instead of the tag, for the operator, its watchdog and the Backends.
func TestDigest(t *testing.T) {
	values := readValues(t, "testdata/trial")
	digest := "sha256:" + strings.Repeat("0a", 32)
	values["image"] = map[string]any{"tag": "dev", "digest": digest}
	r, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(r.Manifest, "image: acclaim@"+digest+"\n"); n != 3 {
		t.Errorf("%d images have the digest", n)
	}
}

// Errors in values are reported before anything reaches a cluster.
func TestRefuses(t *testing.T) {
	for name, test := range map[string]struct{ values, want string }{
		"no database":        {"{}", "production.mongodb.secretName"},
		"unknown value":      {"prodcution: {}", "prodcution"},
		"wrong type":         {"operator: {replicas: two}", "/operator/replicas"},
		"unknown policy":     {"image: {pullPolicy: Sometimes}", "/image/pullPolicy"},
		"no backup volume":   {"{production: {mongodb: {secretName: a}}, backup: {enabled: true}}", "backup.claimName"},
		"two places":         {"{production: {mongodb: {secretName: a}}, backup: {enabled: true, claimName: b, s3: {url: s3://b}}}", "exclude each other"},
		"no bucket":          {"backup: {s3: {url: b}}", "/backup/s3/url"},
		"no backup kept":     {"backup: {keep: 0}", "/backup/keep"},
		"too many backups":   {"backup: {keep: 10001}", "/backup/keep"},
		"a path of storage":  {"backup: {s3: {endpoint: \"https://storage.test/a\"}}", "/backup/s3/endpoint"},
		"a drill of nothing": {"{production: {mongodb: {secretName: a}}, drill: {enabled: true}}", "drill.enabled needs backup.enabled"},
		"not a digest":       {"image: {digest: latest}", "/image/digest"},
		"unknown service":    {"production: {services: {vote: {}}}", "/production/services"},
		"ingress, no host":   {"production: {ingress: {path: /v1}}", "/production/ingress"},
		"part of a poll":     {"polls: {a: {prompt: Which}}", "/polls/a"},
		"typo in extensions": {"extensions: {a: {clientID: a, key: []}}", "/extensions/a"},
	} {
		t.Run(name, func(t *testing.T) {
			var values map[string]any
			if err := yaml.Unmarshal([]byte(test.values), &values); err != nil {
				t.Fatal(err)
			}
			if _, err := render(values); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want one about %q", err, test.want)
			}
		})
	}
}
