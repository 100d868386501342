package desired_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

var update = flag.Bool("update", false, "write the files that the tests compare with")

// TestBackend compares all objects of the Backends in testdata with files that
// hold them, for a person to read.
func TestBackend(t *testing.T) {
	for _, name := range []string{"default", "everything", "route"} {
		t.Run(name, func(t *testing.T) {
			got := encode(t, desired.Backend(load(t, name), "0123456789abcdef"))
			golden := filepath.Join("testdata", name+".golden.yaml")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got, -update writes it anew:\n%s", diff)
			}
		})
	}
}

// load reads a Backend as the API server would return it.
func load(t *testing.T, name string) *v1alpha1.Backend {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var b v1alpha1.Backend
	if err := yaml.UnmarshalStrict(content, &b); err != nil {
		t.Fatal(err)
	}
	return &b
}

func encode(t *testing.T, set desired.Set) string {
	t.Helper()
	var documents []string
	add := func(o any) {
		document, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(document))
	}
	for _, o := range set.Objects {
		add(o.Config)
	}
	for _, r := range set.Rollouts {
		add(r.Deployment)
	}
	return strings.Join(documents, "---\n")
}

// TestRoutes finds, for every path of the contract, the service that serves it
// behind the Ingress.
func TestRoutes(t *testing.T) {
	served := map[string]string{
		"voting": "voting", "accumulation": "accumulation", "ranking": "ranking", "sandbox": "sandbox",
		"state": "state", "config": "state", "session": "state", "events": "state",
	}
	b := load(t, "everything")
	b.Spec.Services.Ranking.Disabled = false
	for path, tag := range contract(t) {
		for _, prefix := range []string{"/sandbox/v1", "/sandbox/v1/e"} {
			if got := behind(t, b, prefix+path); got != "quiz-"+served[tag] {
				t.Errorf("%s%s of %q leads to %q", prefix, path, tag, got)
			}
		}
	}
	if got := behind(t, b, "/live/overlay.js"); got != "quiz-state" {
		t.Errorf("the pages lead to %q", got)
	}
	b.Spec.Services.State = &v1alpha1.Service{Disabled: true}
	b.Spec.Services.Voting = &v1alpha1.Service{Disabled: true}
	for _, path := range []string{"/sandbox/v1/vote", "/sandbox/v1/none"} {
		if got := behind(t, b, path); got != "quiz-accumulation" {
			t.Errorf("%s, which nobody serves, leads to %q", path, got)
		}
	}
	if got := behind(t, b, "/elsewhere"); got != "" {
		t.Errorf("a path of somebody else leads to %q", got)
	}
}

// contract returns the tag of every path in the contract.
func contract(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile("../../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type operation struct{ Tags []string }
	var document struct {
		Paths map[string]struct{ Get, Post, Patch, Delete operation }
	}
	if err := yaml.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	tags := map[string]string{}
	for path, item := range document.Paths {
		tags[path] = slices.Concat(item.Get.Tags, item.Post.Tags, item.Patch.Tags, item.Delete.Tags)[0]
	}
	if len(tags) < 10 {
		t.Fatalf("the contract has only %v", tags)
	}
	return tags
}

// behind returns the name of the Service that the Ingress leads a path to.
func behind(t *testing.T, b *v1alpha1.Backend, path string) string {
	t.Helper()
	for _, o := range desired.Backend(b, "").Objects {
		if o.Kind != "Ingress" {
			continue
		}
		rest := ""
		for _, p := range o.Config.(*networkingv1ac.IngressApplyConfiguration).Spec.Rules[0].HTTP.Paths {
			switch {
			case *p.PathType == "Exact" && *p.Path == path:
				return *p.Backend.Service.Name
			case *p.PathType == "Prefix" && strings.HasPrefix(path, *p.Path+"/"):
				rest = *p.Backend.Service.Name
			}
		}
		return rest
	}
	t.Fatal("no Ingress")
	return ""
}

func TestNoServices(t *testing.T) {
	b := load(t, "everything")
	off := &v1alpha1.Service{Disabled: true}
	b.Spec.Services = v1alpha1.Services{Voting: off, Accumulation: off, Ranking: off, State: off, Sandbox: off}
	set := desired.Backend(b, "")
	if len(set.Rollouts) != 0 || len(set.Objects) != 3 {
		t.Errorf("a Backend without services consists of %s", encode(t, set))
	}
}

// TestPods is about what must differ between pods, and what must not.
func TestPods(t *testing.T) {
	b := load(t, "everything")
	before := encode(t, desired.Backend(b, "one"))
	if after := encode(t, desired.Backend(b, "two")); strings.Count(after, "hash: two") != 3 {
		t.Errorf("another database does not reach the three services that have one:\n%s", cmp.Diff(before, after))
	}
	b.CreationTimestamp, b.ResourceVersion = metav1.Now(), "7"
	if diff := cmp.Diff(before, encode(t, desired.Backend(b, "one"))); diff != "" {
		t.Errorf("rests on more than the spec:\n%s", diff)
	}
}

// TestArguments asks the real program what it thinks of what a pod tells it.
func TestArguments(t *testing.T) {
	program := filepath.Join(t.TempDir(), "acclaim")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../../services")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	b := load(t, "everything")
	b.Spec.Services.Ranking = nil
	for _, r := range desired.Backend(b, "").Rollouts {
		c := r.Deployment.Spec.Template.Spec.Containers[0]
		// Flags are read before help is given.
		help, err := exec.CommandContext(t.Context(), program, append(c.Args, "--help")...).CombinedOutput()
		if err != nil {
			t.Errorf("%s refuses its arguments: %v\n%s", r.Service, err, help)
			continue
		}
		told := []string{*c.LivenessProbe.HTTPGet.Path, *c.ReadinessProbe.HTTPGet.Path}
		for _, variable := range c.Env {
			if *variable.Name != "POD_IP" { // the arguments have that one
				told = append(told, *variable.Name)
			}
		}
		for _, word := range told {
			if !strings.Contains(string(help), word) {
				t.Errorf("%s does not know %s", r.Service, word)
			}
		}
	}
}
