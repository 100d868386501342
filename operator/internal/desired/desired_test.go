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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/hack/harness"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

var update = flag.Bool("update", false, "write the files that the tests compare with")

// TestBackend compares all objects of the Backends in testdata with files that
// hold them, for people to read.
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
				t.Errorf("-want +got, -update writes it again:\n%s", diff)
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

// serviceOfTag holds the service that serves the operations of each tag of the
// contract. A new tag has to be added here.
func serviceOfTag() map[string]string {
	return map[string]string{
		"voting": desired.Voting, "accumulation": desired.Accumulation, "ranking": desired.Ranking, "sandbox": desired.Sandbox,
		"state": desired.State, "config": desired.State, "session": desired.State, "events": desired.State,
		"games": desired.State, "purchases": desired.State, "empty": desired.State, "overlays": desired.State, "staff": desired.State,
	}
}

// TestShare holds Backends of one host to the rule of ingress-nginx: no path of a host
// is in two Ingresses.
func TestShare(t *testing.T) {
	owners := map[string]string{}
	for _, path := range []string{"/v1", "/sandbox/v1", "/team/v1"} {
		b := load(t, "everything")
		b.Name, b.Spec.Ingress.Path, b.Spec.Ingress.Pages = "at"+strings.ReplaceAll(path, "/", "-"), path, nil
		table := routesOf(t, b)
		for _, paths := range []map[string]string{table.exact, table.prefix} {
			for path := range paths {
				if owner := owners[path]; owner != "" {
					t.Errorf("%s is in the Ingresses of %s and %s", path, owner, b.Name)
				}
				owners[path] = b.Name
			}
		}
	}
	for path, owner := range map[string]string{"/live": "at-v1", "/vote": "at-v1", "/public": "at-v1", "/log": "at-v1", "/sandbox/public": "at-sandbox-v1", "/team/public": "at-team-v1"} {
		if owners[path] != owner {
			t.Errorf("%s is that of %q, want %s", path, owners[path], owner)
		}
	}
	b := load(t, "everything")
	b.Spec.Ingress.Path, b.Spec.Ingress.Pages = "/v1", new(bool)
	for _, path := range []string{"/live/console.html", "/vote/ext/1/p", "/public/ext/1/p/result.json"} {
		if got := routesOf(t, b).find(path); got != "" {
			t.Errorf("%s, which is switched off, leads to %q", path, got)
		}
	}
}

// TestRoutes holds the Ingress and the HTTPRoute to the contract: every path leads
// to the service of its tag, and no path that leads to a service by name is missing
// in the contract.
func TestRoutes(t *testing.T) {
	for _, kind := range []string{"Ingress", desired.HTTPRouteKind} {
		t.Run(kind, func(t *testing.T) {
			b := load(t, "everything")
			b.Spec.Services.Ranking.Disabled = false
			if kind == desired.HTTPRouteKind {
				b.Spec.Ingress, b.Spec.Route = nil, &v1alpha1.Route{Host: b.Spec.Ingress.Host, Path: b.Spec.Ingress.Path, Pages: b.Spec.Ingress.Pages}
			}
			table := routesOf(t, b)
			want := map[string]string{}
			for path, tag := range readTags(t) {
				service, known := serviceOfTag()[tag]
				if !known {
					t.Fatalf("%s has the tag %q, which no service serves", path, tag)
				}
				if strings.HasPrefix(path, "/public/") || strings.HasPrefix(path, "/log/") {
					if got := table.find("/sandbox" + path); got != "quiz-voting" {
						t.Errorf("/sandbox%s leads to %q", path, got)
					}
					continue
				}
				for _, prefix := range []string{"/sandbox/v1", "/sandbox/v1/e"} {
					if got := table.find(prefix + path); got != "quiz-"+service {
						t.Errorf("%s%s of %q leads to %q", prefix, path, tag, got)
					}
					if service != desired.State {
						want[prefix+path] = "quiz-" + service
					}
				}
			}
			if diff := cmp.Diff(want, table.exact); diff != "" {
				t.Errorf("exact paths (-contract +routes):\n%s", diff)
			}
			for _, path := range []string{"/live/overlay.js", "/vote/ext/1/p"} {
				if got := table.find(path); got != "quiz-state" {
					t.Errorf("the page %s leads to %q", path, got)
				}
			}
			if got := table.find("/elsewhere"); got != "" {
				t.Errorf("a path outside of the base path leads to %q", got)
			}
			b.Spec.Services.State = &v1alpha1.Service{Disabled: true}
			b.Spec.Services.Voting = &v1alpha1.Service{Disabled: true}
			table = routesOf(t, b)
			for _, path := range []string{"/sandbox/v1/vote", "/sandbox/v1/none"} {
				if got := table.find(path); got != "quiz-accumulation" {
					t.Errorf("%s, which no service serves, leads to %q", path, got)
				}
			}
		})
	}
}

// TestNoGames holds Backends to running nothing for games, and leading no host there, unless
// they declare the service.
func TestNoGames(t *testing.T) {
	for _, name := range []string{"everything", "route"} {
		for _, service := range []*v1alpha1.Service{nil, {Disabled: true}} {
			b := load(t, name)
			b.Spec.Services.GameLink = service
			for _, trace := range []string{"gamelink", "games.quiz.example"} {
				if got := encode(t, desired.Backend(b, "")); strings.Contains(got, trace) {
					t.Errorf("%s: without games there is %s:\n%s", name, trace, got)
				}
			}
		}
	}
}

// readTags returns the tag of every path in the contract. One service serves all
// operations of a path, so they have one tag.
func readTags(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile("../../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type operation struct{ Tags []string }
	var document struct {
		Paths map[string]struct{ Get, Post, Put, Patch, Delete operation }
	}
	if err := yaml.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	tags := map[string]string{}
	for path, item := range document.Paths {
		all := slices.Concat(item.Get.Tags, item.Post.Tags, item.Put.Tags, item.Patch.Tags, item.Delete.Tags)
		slices.Sort(all)
		if all = slices.Compact(all); len(all) != 1 {
			t.Fatalf("%s has the tags %q, want one", path, all)
		}
		tags[path] = all[0]
	}
	if len(tags) < 10 {
		t.Fatalf("the contract has only %v", tags)
	}
	return tags
}

// routeTable holds the Services that the paths of an Ingress or HTTPRoute lead to.
type routeTable struct{ exact, prefix map[string]string }

// find returns the name of the Service for a path, empty without one.
func (r routeTable) find(path string) string {
	if service, ok := r.exact[path]; ok {
		return service
	}
	longest, found := "", ""
	for prefix, service := range r.prefix {
		if strings.HasPrefix(path, prefix+"/") && len(prefix) > len(longest) {
			longest, found = prefix, service
		}
	}
	return found
}

// routesOf reads the Ingress or the HTTPRoute of a Backend.
func routesOf(t *testing.T, b *v1alpha1.Backend) routeTable {
	t.Helper()
	table := routeTable{exact: map[string]string{}, prefix: map[string]string{}}
	for _, o := range desired.Backend(b, "").Objects {
		switch config := o.Config.(type) {
		case *networkingv1ac.IngressApplyConfiguration:
			for _, p := range config.Spec.Rules[0].HTTP.Paths {
				table.add(string(*p.PathType), *p.Path, *p.Backend.Service.Name)
			}
			return table
		case *unstructured.Unstructured:
			var route struct {
				Spec struct {
					Rules []struct {
						Matches     []struct{ Path struct{ Type, Value string } }
						BackendRefs []struct{ Name string }
					}
				}
			}
			content, err := yaml.Marshal(config)
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal(content, &route); err != nil {
				t.Fatal(err)
			}
			for _, rule := range route.Spec.Rules {
				for _, m := range rule.Matches {
					table.add(m.Path.Type, m.Path.Value, rule.BackendRefs[0].Name)
				}
			}
			return table
		}
	}
	t.Fatal("neither an Ingress nor an HTTPRoute")
	return table
}

func (r routeTable) add(kind, path, service string) {
	if kind == "Exact" {
		r.exact[path] = service
		return
	}
	r.prefix[path] = service
}

func TestNoServices(t *testing.T) {
	b := load(t, "everything")
	off := &v1alpha1.Service{Disabled: true}
	b.Spec.Services = v1alpha1.Services{Voting: off, Accumulation: off, Ranking: off, State: off, GameLink: off, Sandbox: off}
	set := desired.Backend(b, "")
	if len(set.Rollouts) != 0 || len(set.Objects) != 3 {
		t.Errorf("a Backend without services consists of %s", encode(t, set))
	}
}

// TestPods is about what must differ between pods, and what must not.
func TestPods(t *testing.T) {
	b := load(t, "everything")
	before := encode(t, desired.Backend(b, "one"))
	if after := encode(t, desired.Backend(b, "two")); strings.Count(after, "secret-version: two") != 4 {
		t.Errorf("another database does not reach the four services that have one:\n%s", cmp.Diff(before, after))
	}
	b.CreationTimestamp, b.ResourceVersion = metav1.Now(), "7"
	if diff := cmp.Diff(before, encode(t, desired.Backend(b, "one"))); diff != "" {
		t.Errorf("rests on more than the spec:\n%s", diff)
	}
}

// TestArguments asks the real program what it thinks of what a pod tells it.
func TestArguments(t *testing.T) {
	program, err := harness.BuildProgram(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b := load(t, "everything")
	testTasks(t, program, b)
	b.Spec.Services.Ranking, b.Spec.PodTemplate.Env = nil, nil
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

// Only pods that sign results have a token of the API server, for one object alone.
func TestTokens(t *testing.T) {
	b := load(t, "everything")
	for _, r := range desired.Backend(b, "").Rollouts {
		has := slices.ContainsFunc(r.Deployment.Spec.Template.Spec.Volumes, func(v corev1ac.VolumeApplyConfiguration) bool { return v.Projected != nil })
		if has != (r.Service == desired.Voting) {
			t.Errorf("%s has a token: %v", r.Service, has)
		}
	}
	for _, o := range desired.Backend(b, "").Objects {
		if role, ok := o.Config.(*rbacv1ac.RoleApplyConfiguration); ok && (len(role.Rules) != 1 || !slices.Equal(role.Rules[0].ResourceNames, []string{"quiz-result-log-mark"})) {
			t.Errorf("the role grants %+v", role.Rules)
		}
		if mark, ok := o.Config.(*corev1ac.ConfigMapApplyConfiguration); ok && (mark.Data != nil || mark.BinaryData != nil) {
			t.Errorf("the operator owns data of the mark: %+v", mark)
		}
	}
	b.Spec.ResultLog = nil
	if got := encode(t, desired.Backend(b, "")); strings.Contains(got, "serviceAccountToken") || strings.Contains(got, "kind: Role") {
		t.Errorf("without a log of results there is a token or a right:\n%s", got)
	}
}
