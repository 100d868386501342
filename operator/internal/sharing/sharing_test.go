package sharing_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
)

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func allowing(from v1alpha1.FromNamespaces, selector *metav1.LabelSelector) *v1alpha1.AllowedNamespaces {
	return &v1alpha1.AllowedNamespaces{From: from, Selector: selector}
}

func labelled(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

// An operator of some namespaces reads no labels: a label that it does not see must not
// admit a namespace by its absence.
func TestAllows(t *testing.T) {
	without := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "blocked", Operator: metav1.LabelSelectorOpDoesNotExist}}}
	invalid := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Like"}}}
	for name, test := range map[string]struct {
		allowed   *v1alpha1.AllowedNamespaces
		all, some []string // the namespaces that may, for an operator of all and one of some namespaces
		fails     bool     // the selector, for the latter
	}{
		"nothing":            {allowed: nil, all: []string{"home"}, some: []string{"home"}},
		"Same":               {allowed: allowing(v1alpha1.FromSame, nil), all: []string{"home"}, some: []string{"home"}},
		"All":                {allowed: allowing(v1alpha1.FromAll, nil), all: []string{"home", "a", "b"}, some: []string{"home", "a", "b"}},
		"a label":            {allowed: allowing(v1alpha1.FromSelector, labelled("team", "a")), all: []string{"home", "a"}, some: []string{"home"}, fails: true},
		"the absence of one": {allowed: allowing(v1alpha1.FromSelector, without), all: []string{"home", "a"}, some: []string{"home"}, fails: true},
		"a name":             {allowed: allowing(v1alpha1.FromSelector, labelled(corev1.LabelMetadataName, "b")), all: []string{"home", "b"}, some: []string{"home", "b"}},
		"no valid selector":  {allowed: allowing(v1alpha1.FromSelector, invalid), all: []string{"home"}, some: []string{"home"}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: "default"}, Spec: v1alpha1.BackendSpec{AllowedNamespaces: test.allowed}}
			c := fake.NewClientBuilder().WithObjects(namespace("home", nil),
				namespace("a", map[string]string{"team": "a", corev1.LabelMetadataName: "a"}),
				namespace("b", map[string]string{"team": "b", "blocked": "", corev1.LabelMetadataName: "b"})).Build()
			for _, operator := range []struct {
				watched []string
				want    []string
			}{{nil, test.all}, {[]string{"home", "a", "b"}, test.some}} {
				consent := sharing.Consent{Client: c, Watched: operator.watched}
				var got []string
				for _, namespace := range []string{"home", "a", "b", "absent"} {
					if namespace == "absent" && test.allowed != nil && test.allowed.From == v1alpha1.FromAll {
						continue
					}
					allowed, err := consent.Allows(t.Context(), b, namespace)
					if err != nil {
						t.Fatal(err)
					}
					if allowed {
						got = append(got, namespace)
					}
				}
				if strings.Join(got, " ") != strings.Join(operator.want, " ") {
					t.Errorf("watching %q: allowed are %q, want %q", operator.watched, got, operator.want)
				}
			}
			if test.allowed == nil || test.allowed.From != v1alpha1.FromSelector {
				return
			}
			if _, err := (sharing.Consent{Watched: []string{"home"}}).Selector(b); (err != nil) != test.fails {
				t.Errorf("the selector fails with %v", err)
			}
		})
	}
}

// What is said about a Backend of another namespace does not depend on whether it exists.
func TestFindTellsNothing(t *testing.T) {
	scheme := fake.NewClientBuilder().Build().Scheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	closed := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: "closed"}}
	consent := sharing.Consent{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(closed).Build()}
	for _, name := range []string{"closed", "absent"} {
		b, err := consent.Find(t.Context(), types.NamespacedName{Namespace: "home", Name: name}, "team")
		if b != nil || err != nil {
			t.Errorf("%s: found %v, %v", name, b, err)
		}
	}
	if b, err := consent.Find(t.Context(), client.ObjectKeyFromObject(closed), "home"); b == nil || err != nil {
		t.Errorf("its own namespace finds %v, %v", b, err)
	}
	limited := sharing.Consent{Watched: []string{"team"}}
	if b, err := limited.Find(t.Context(), client.ObjectKeyFromObject(closed), "team"); b != nil || err != nil {
		t.Errorf("a namespace that is not watched: %v, %v", b, err)
	}
}

func TestReferences(t *testing.T) {
	e := &v1alpha1.Extension{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "quiz"}}
	production := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "default"}, Spec: v1alpha1.BackendSpec{Environment: "production"}}
	sandbox := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: "sandbox"}, Spec: v1alpha1.BackendSpec{Environment: "sandbox"}}
	check := func(what string, inProduction, inSandbox bool) {
		t.Helper()
		if sharing.Wants(e, production) != inProduction || sharing.Wants(e, sandbox) != inSandbox {
			t.Errorf("%s: wants production %v, the sandbox %v", what, sharing.Wants(e, production), sharing.Wants(e, sandbox))
		}
	}
	check("naming none", true, false)
	e.Spec.Sandbox = &v1alpha1.Environment{BackendRef: &v1alpha1.BackendReference{Name: "sandbox", Namespace: "home"}}
	check("naming the sandbox", true, true)
	e.Spec.BackendRef = &v1alpha1.BackendReference{Name: "sandbox", Namespace: "home"}
	check("naming the sandbox for production", false, true)
	e.Spec.BackendRef = &v1alpha1.BackendReference{Name: "default"}
	check("naming one of its own namespace", true, true)
}
