package uninstall_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/uninstall"
)

func newPoll(namespace, name string, labels map[string]string) *v1alpha1.Poll {
	return &v1alpha1.Poll{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: labels, Finalizers: []string{v1alpha1.PollFinalizer, "example.com/other"},
		Annotations: heldBy("live/acclaim"),
	}}
}

func heldBy(instance string) map[string]string {
	return map[string]string{v1alpha1.OperatorAnnotation: instance}
}

func newWorld(t *testing.T, funcs interceptor.Funcs) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	mine := map[string]string{"app.kubernetes.io/instance": "acclaim", "app.kubernetes.io/managed-by": "Helm"}
	operator := map[string]string{"app.kubernetes.io/instance": "acclaim", "app.kubernetes.io/component": "operator"}
	owned := newPoll("live", "owned", mine)
	owned.Finalizers = owned.Finalizers[:1]
	foreign := newPoll("quiz", "foreign", nil)
	foreign.Annotations = heldBy("other/acclaim")
	two := int32(2)
	return fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(funcs).
		WithStatusSubresource(&v1alpha1.Poll{}, &v1alpha1.Extension{}, &v1alpha1.Backend{}).WithObjects(
		owned,
		newPoll("live", "applied", nil),
		newPoll("quiz", "elsewhere", mine),
		newPoll("left", "not-watched", nil), // any more
		foreign,
		&v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{
			Namespace: "quiz", Name: "backend", Annotations: heldBy("live/acclaim"), Finalizers: []string{v1alpha1.BackendFinalizer, "example.com/other"},
		}},
		&v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{
			Namespace: "quiz", Name: "foreign-backend", Annotations: heldBy("other/acclaim"), Finalizers: []string{v1alpha1.BackendFinalizer},
		}},
		&v1alpha1.Extension{ObjectMeta: metav1.ObjectMeta{
			Namespace: "quiz", Name: "extension", Annotations: heldBy("live/acclaim"), Finalizers: []string{v1alpha1.ExtensionFinalizer, "example.com/other"},
		}},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "live", Name: "leader"}},
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "live", Name: "acclaim-operator", Labels: operator},
			Spec:       appsv1.DeploymentSpec{Replicas: &two},
		},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "live", Name: "default-voting"}, Spec: appsv1.DeploymentSpec{Replicas: &two}},
	).Build()
}

func newUninstaller(t *testing.T, c client.Client) *uninstall.Uninstaller {
	return &uninstall.Uninstaller{
		Client: c, Log: testr.New(t), Namespace: "live", Release: "acclaim", Lease: "leader",
		Timeout: time.Minute, Interval: time.Second,
	}
}

// run runs an uninstaller over a clock of its own, on which only its waits take time.
func run(t *testing.T, u *uninstall.Uninstaller) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { err = u.Run(t.Context()) })
	return err
}

// left returns the objects that there are, with their finalizers and their holder.
func left(t *testing.T, c client.Client) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, list := range []client.ObjectList{&v1alpha1.PollList{}, &v1alpha1.ExtensionList{}, &v1alpha1.BackendList{}} {
		if err := c.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		_ = meta.EachListItem(list, func(item runtime.Object) error {
			o := item.(client.Object)
			marks := o.GetFinalizers()
			if holder := o.GetAnnotations()[v1alpha1.OperatorAnnotation]; holder != "" {
				marks = append(marks, holder)
			}
			all[o.GetNamespace()+"/"+o.GetName()] = marks
			return nil
		})
	}
	return all
}

// What is left when the services answer, and when they do not: the same.
func TestRun(t *testing.T) {
	for name, answers := range map[string]bool{"services answer": true, "services do not answer": false} {
		t.Run(name, func(t *testing.T) {
			var deleted []string
			c := newWorld(t, interceptor.Funcs{
				Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
					deleted = append(deleted, o.GetName())
					if err := c.Delete(ctx, o, options...); err != nil || o.GetName() != "owned" || !answers {
						return err
					}
					o.SetFinalizers(nil) // as the operator does once the service has forgotten the poll
					return c.Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
				},
			})
			if err := run(t, newUninstaller(t, c)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"owned", "leader"}, deleted); diff != "" {
				t.Errorf("deleted (-want +got):\n%s", diff)
			}
			want := map[string][]string{
				"live/applied":         {"example.com/other"},
				"quiz/elsewhere":       {"example.com/other"},
				"quiz/extension":       {"example.com/other"},
				"quiz/backend":         {"example.com/other"},
				"quiz/foreign-backend": {v1alpha1.BackendFinalizer, "other/acclaim"},
				"quiz/foreign":         {v1alpha1.PollFinalizer, "example.com/other", "other/acclaim"},
				"left/not-watched":     {"example.com/other"},
			}
			if diff := cmp.Diff(want, left(t, c)); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
			var applied v1alpha1.Poll
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: "live", Name: "applied"}, &applied); err != nil {
				t.Fatal(err)
			}
			ready := meta.FindStatusCondition(applied.Status.Conditions, v1alpha1.Ready)
			if ready == nil || ready.Status != metav1.ConditionUnknown || ready.Reason != v1alpha1.ReasonOperatorRemoved {
				t.Errorf("Ready of a Poll that is left: %+v", ready)
			}
		})
	}
}

// The operator stops, nothing else does, and Polls are freed only after that.
func TestOperatorStopsFirst(t *testing.T) {
	var order []string
	c := newWorld(t, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			order = append(order, o.GetName())
			return c.Patch(ctx, o, patch, options...)
		},
	})
	if err := run(t, newUninstaller(t, c)); err != nil {
		t.Fatal(err)
	}
	if len(order) == 0 || order[0] != "acclaim-operator" || slices.Contains(order, "default-voting") {
		t.Errorf("patched %v", order)
	}
	replicas := map[string]int32{}
	var deployments appsv1.DeploymentList
	if err := c.List(t.Context(), &deployments); err != nil {
		t.Fatal(err)
	}
	for _, d := range deployments.Items {
		replicas[d.Name] = *d.Spec.Replicas
	}
	if want := map[string]int32{"acclaim-operator": 0, "default-voting": 2}; !maps.Equal(replicas, want) {
		t.Errorf("replicas %v, want %v", replicas, want)
	}
}

func TestErrorsEndIt(t *testing.T) {
	refused := errors.New("refused")
	for name, funcs := range map[string]interceptor.Funcs{
		"list": {List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return refused }},
		"patch": {Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return refused
		}},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUninstaller(t, newWorld(t, funcs))
			if err := run(t, u); !errors.Is(err, refused) {
				t.Errorf("error is %v, want %v", err, refused)
			}
		})
	}
}

// A release with something protected stays whole: Helm could not delete it.
func TestProtected(t *testing.T) {
	c := newWorld(t, interceptor.Funcs{})
	before := left(t, c)
	backend := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{
		Namespace: "live", Name: "default", Annotations: map[string]string{v1alpha1.ProtectedAnnotation: "true"},
		Labels: map[string]string{"app.kubernetes.io/instance": "acclaim", "app.kubernetes.io/managed-by": "Helm"},
	}}
	if err := c.Create(t.Context(), backend); err != nil {
		t.Fatal(err)
	}
	err := run(t, newUninstaller(t, c))
	if err == nil || !strings.Contains(err.Error(), "Backend default is protected") {
		t.Fatalf("error is %v", err)
	}
	if err := c.Delete(t.Context(), backend); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, left(t, c)); diff != "" {
		t.Errorf("changed (-before +after):\n%s", diff)
	}
}
