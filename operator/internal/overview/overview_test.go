package overview_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/overview"
)

var update = flag.Bool("update", false, "write the trees to testdata")

var now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// world returns a cluster with objects.
func world(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(funcs).WithObjects(objects...).Build()
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1, CreationTimestamp: ago(time.Hour),
		Annotations: map[string]string{v1alpha1.OperatorAnnotation: "system/acclaim"}}
}

// condition returns one that lasts for an hour.
func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(time.Hour)}
}

func ready() []metav1.Condition {
	return []metav1.Condition{condition(v1alpha1.Ready, metav1.ConditionTrue, "Fine", "")}
}

func notReady(reason, message string) []metav1.Condition {
	return []metav1.Condition{condition(v1alpha1.Ready, metav1.ConditionFalse, reason, message)}
}

func backend(namespace, name string, conditions []metav1.Condition) *v1alpha1.Backend {
	off := &v1alpha1.Service{Disabled: true}
	return &v1alpha1.Backend{ObjectMeta: named(namespace, name), Spec: v1alpha1.BackendSpec{
		Environment: "production", Image: "acclaim:1", Ingress: &v1alpha1.Ingress{Host: name + ".test"},
		Services: v1alpha1.Services{Accumulation: off, Ranking: off},
	}, Status: v1alpha1.BackendStatus{ObservedGeneration: 1, Conditions: conditions}}
}

func extension(namespace, name string, conditions []metav1.Condition) *v1alpha1.Extension {
	return &v1alpha1.Extension{ObjectMeta: named(namespace, name), Spec: v1alpha1.ExtensionSpec{
		ClientID: v1alpha1.ID(name), Environment: v1alpha1.Environment{Keys: []v1alpha1.Key{{}}},
	}, Status: v1alpha1.ExtensionStatus{ObservedGeneration: 1, Conditions: conditions}}
}

func poll(name, extension string, conditions []metav1.Condition) *v1alpha1.Poll {
	return &v1alpha1.Poll{ObjectMeta: named("team", name), Spec: v1alpha1.PollSpec{
		ExtensionRef: v1alpha1.ObjectReference{Name: extension}, Channel: "1",
	}, Status: v1alpha1.PollStatus{ObservedGeneration: 1, Conditions: conditions, PollStatus: "active"}}
}

func labels(instance, service string) map[string]string {
	return map[string]string{"app.kubernetes.io/name": "acclaim", "app.kubernetes.io/instance": instance,
		"app.kubernetes.io/component": service, "app.kubernetes.io/managed-by": "acclaim-operator"}
}

func deployment(namespace, instance, service string, ready int32) *appsv1.Deployment {
	wanted := int32(2)
	d := &appsv1.Deployment{ObjectMeta: named(namespace, instance+"-"+service), Spec: appsv1.DeploymentSpec{Replicas: &wanted},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 1, ReadyReplicas: ready, AvailableReplicas: ready, UpdatedReplicas: wanted}}
	d.Labels = labels(instance, service)
	return d
}

func lease(namespace, holder string, renewed time.Duration) *coordinationv1.Lease {
	seconds, time := int32(15), metav1.NewMicroTime(now.Add(-renewed))
	return &coordinationv1.Lease{ObjectMeta: named(namespace, overview.OperatorLease),
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &time}}
}

// healthy returns an operator that works and a Backend whose pods are ready.
func healthy() []client.Object {
	return []client.Object{
		deployment("system", "acclaim", "operator", 2), lease("system", "acclaim-operator-abc_1234", 3*time.Second),
		backend("team", "default", ready()), deployment("team", "default", "voting", 2), deployment("team", "default", "state", 2),
		extension("team", "quiz", ready()),
	}
}

func event(namespace, kind, name, reason, note string, age time.Duration) *eventsv1.Event {
	e := &eventsv1.Event{ObjectMeta: named(namespace, name+"."+strings.ToLower(reason)), Type: "Warning", Reason: reason, Note: note,
		EventTime: metav1.NewMicroTime(now.Add(-age)), Regarding: corev1.ObjectReference{Kind: kind, Namespace: namespace, Name: name}}
	return e
}

// broken returns a Backend without an image, a Poll without an Extension, another that is not
// deleted, and backups whose oldest failed.
func broken() []client.Object {
	b := backend("team", "broken", append(notReady("ImagePullBackOff", "voting: no such image"),
		condition(v1alpha1.Degraded, metav1.ConditionTrue, "ImagePullBackOff", "voting: no such image")))
	b.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: v1alpha1.FromAll}
	pod := &corev1.Pod{ObjectMeta: named("team", "broken-voting-x"), Status: corev1.PodStatus{Phase: corev1.PodPending,
		ContainerStatuses: []corev1.ContainerStatus{{RestartCount: 2, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "ImagePullBackOff", Message: "Back-off\npulling \x1b[31macclaim:1"}}}}}}
	pod.Labels = labels("broken", "voting")
	stuck := poll("stuck", "quiz", ready())
	deleted := ago(time.Hour)
	stuck.DeletionTimestamp, stuck.Finalizers = &deleted, []string{v1alpha1.PollFinalizer}
	stuck.Status.Backend = "default"
	unseen := poll("unseen", "quiz", nil)
	unseen.Status = v1alpha1.PollStatus{ObservedGeneration: -1}
	unseen.Spec.BackendRef = &v1alpha1.BackendReference{Name: "default"}
	lost := poll("lost", "nobody", notReady("ExtensionNotFound", `Extension "nobody" does not exist`))
	lost.Spec.BackendRef = &v1alpha1.BackendReference{Name: "default"}
	return []client.Object{
		b, deployment("team", "broken", "voting", 0), pod, event("team", "Pod", pod.Name, "Failed", "no such image", 2*time.Minute),
		stuck, unseen, lost, event("team", "Poll", "lost", "ExtensionNotFound", "old", 3*time.Hour), event("team", "Poll", "lost", "Retried", "newer", time.Minute),
		backup("Backup", "first", 3*time.Hour, "Failed"), backup("Backup", "second", time.Hour, "Completed"), backup("ScheduledBackup", "nightly", 3*time.Hour, "Completed"),
	}
}

func backup(kind, name string, age time.Duration, reason string) *unstructured.Unstructured {
	status := "True"
	if reason == "Failed" {
		status = "False"
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"backendRef": map[string]any{"name": "default"}},
		"status": map[string]any{"observedGeneration": int64(1), "conditions": []any{map[string]any{
			"type": "Ready", "status": status, "reason": reason, "lastTransitionTime": "2026-11-25T08:00:00Z"}}},
	}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: kind})
	o.SetNamespace("team")
	o.SetName(name)
	o.SetGeneration(1)
	o.SetCreationTimestamp(ago(age))
	return o
}

// suspended returns a Backend that runs no pods, as declared, and a Poll in it.
func suspended() []client.Object {
	reason := func(message string) []metav1.Condition {
		return append(notReady(v1alpha1.ReasonBackendSuspended, message), condition(v1alpha1.Stalled, metav1.ConditionTrue, v1alpha1.ReasonBackendSuspended, message))
	}
	b := backend("team", "default", reason("it runs no pods"))
	b.Spec.Suspend = true
	objects := append(healthy()[:2], b, extension("team", "quiz", ready()))
	for _, service := range []string{"voting", "state"} {
		d := deployment("team", "default", service, 0)
		d.Spec.Replicas, d.Status.UpdatedReplicas = new(int32), 0
		objects = append(objects, d)
	}
	p := poll("lunch", "quiz", reason(`Backend "default" is suspended`))
	p.Status.Backend = "default"
	return append(objects, p)
}

func TestTree(t *testing.T) {
	many := healthy()
	for i := range 13 {
		p := poll("poll-"+string(rune('a'+i)), "quiz", ready())
		p.Status.Backend, p.Status.Live = "default", &v1alpha1.LiveStatistics{Time: ago(10 * time.Second), Count: 7, Leader: "Red"}
		many = append(many, p)
	}
	elsewhere := extension("other", "guest", ready())
	elsewhere.Spec.BackendRef = &v1alpha1.BackendReference{Namespace: "team", Name: "default"}
	for name, test := range map[string]struct {
		objects            []client.Object
		namespace, backend string
		failing            int
	}{
		"healthy":       {objects: many},
		"broken":        {objects: append(healthy(), broken()...), failing: 6},
		"one-backend":   {objects: append(healthy(), broken()...), namespace: "team", backend: "broken", failing: 3},
		"other-team":    {objects: append(healthy(), elsewhere), namespace: "other"},
		"no-operator":   {objects: healthy()[2:], failing: 1},
		"leader-gone":   {objects: append(healthy()[2:], deployment("system", "acclaim", "operator", 2), lease("system", "gone_1", 10*time.Minute)), failing: 1},
		"suspended":     {objects: suspended()},
		"nothing-there": {},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := overview.Reader{Client: world(t, interceptor.Funcs{}, test.objects...), Now: now}.Read(t.Context(), test.namespace, test.backend)
			if err != nil {
				t.Fatal(err)
			}
			if o.Failing != test.failing {
				t.Errorf("%d are not OK, want %d", o.Failing, test.failing)
			}
			var tree strings.Builder
			if err := o.Print(&tree); err != nil {
				t.Fatal(err)
			}
			file := "testdata/" + name + ".txt"
			if *update {
				if err := os.WriteFile(file, []byte(tree.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), tree.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A user with few rights sees what those show, and what they do not.
func TestRights(t *testing.T) {
	forbid := func(list client.ObjectList) error {
		switch list.(type) {
		case *eventsv1.EventList, *appsv1.DeploymentList:
			return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("no rights"))
		case *unstructured.UnstructuredList:
			return &meta.NoKindMatchError{}
		}
		return nil
	}
	funcs := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if err := forbid(list); err != nil {
			return err
		}
		return c.List(ctx, list, options...)
	}}
	o, err := overview.Reader{Client: world(t, funcs, healthy()...), Now: now}.Read(t.Context(), "team", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range o.Roots {
		if n.Kind == overview.KindOperator {
			t.Errorf("the operator cannot be read: %+v", n)
		}
	}
	if len(o.Unread) != 1 || !strings.Contains(o.Unread[0], "no rights") {
		t.Errorf("not read: %q", o.Unread)
	}
}

// An object that has just been declared is waited for.
func TestPatience(t *testing.T) {
	for name, test := range map[string]struct {
		age     time.Duration
		stalled bool
		want    overview.State
	}{
		"new":     {age: time.Minute, want: overview.Waiting},
		"stalled": {age: time.Minute, stalled: true, want: overview.Wrong},
		"old":     {age: time.Hour, want: overview.Wrong},
	} {
		t.Run(name, func(t *testing.T) {
			e := extension("team", "quiz", notReady("WaitingForRegistry", "soon"))
			e.Status.Conditions[0].LastTransitionTime = ago(test.age)
			if test.stalled {
				e.Status.Conditions = append(e.Status.Conditions, condition(v1alpha1.Stalled, metav1.ConditionTrue, "WaitingForRegistry", ""))
			}
			o, err := overview.Reader{Client: world(t, interceptor.Funcs{}, append(healthy()[:5], e)...), Now: now}.Read(t.Context(), "team", "")
			if err != nil {
				t.Fatal(err)
			}
			if got := o.Roots[0].Children[0]; got.Kind != overview.KindExtension || got.State != test.want {
				t.Errorf("%+v, want an Extension that is %s", got, test.want)
			}
		})
	}
}
