package scope_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/acclaim-dev/acclaim/operator/internal/scope"
)

// cluster answers as an API server in which an operator has its rights in some namespaces.
type cluster struct {
	granted map[string]bool
	reads   error // of namespaces
	reviews error
	asked   *int // number of reviews, where it is set
}

func (k cluster) client() client.Client {
	tenant := map[string]string{"tenant": "yes"}
	gone := &metav1.Time{Time: metav1.Now().Time}
	named := func(name string, labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	leaving, left := named("leaving", nil), named("left", nil)
	for _, n := range []*corev1.Namespace{leaving, left} {
		n.DeletionTimestamp, n.Finalizers = gone, []string{"kubernetes"}
	}
	return fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).
		WithObjects(named("team", nil), named("stranger", nil), leaving, left, named("labelled", tenant), named("unbound", tenant)).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
				if k.reads != nil {
					return k.reads
				}
				return c.Get(ctx, key, o, options...)
			},
			Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
				if k.asked != nil {
					*k.asked++
				}
				review := o.(*authorizationv1.SelfSubjectAccessReview)
				right := review.Spec.ResourceAttributes
				review.Status.Allowed = k.granted[right.Namespace] && (right.Resource != "secrets" || right.Namespace != "labelled" || k.granted["secrets"])
				return k.reviews
			},
		}).Build()
}

// A namespace that is gone, not there yet or without rights never counts as one to watch.
func TestResolve(t *testing.T) {
	forbidden := apierrors.NewForbidden(corev1.Resource("namespaces"), "", nil)
	names := []string{"gone", "leaving", "left", "stranger", "team", "team"}
	for name, test := range map[string]struct {
		cluster  cluster
		selector string
		want     map[string]scope.State
	}{
		"by name": {cluster{granted: map[string]bool{"team": true, "leaving": true, "gone": true}}, "", map[string]scope.State{
			"gone": scope.Missing, "leaving": scope.Watched, "left": scope.Terminating, "stranger": scope.Forbidden, "team": scope.Watched,
		}},
		"without a right to read namespaces": {cluster{granted: map[string]bool{"team": true}, reads: forbidden}, "", map[string]scope.State{
			"gone": scope.Forbidden, "leaving": scope.Forbidden, "left": scope.Forbidden, "stranger": scope.Forbidden, "team": scope.Watched,
		}},
		"and by label": {cluster{granted: map[string]bool{"team": true, "labelled": true, "secrets": true}}, "tenant=yes", map[string]scope.State{
			"gone": scope.Missing, "leaving": scope.Terminating, "left": scope.Terminating, "stranger": scope.Forbidden, "team": scope.Watched,
			"labelled": scope.Watched, "unbound": scope.Forbidden,
		}},
		"with a part of the rights": {cluster{granted: map[string]bool{"team": true, "labelled": true}}, "tenant", map[string]scope.State{
			"gone": scope.Missing, "leaving": scope.Terminating, "left": scope.Terminating, "stranger": scope.Forbidden, "team": scope.Watched,
			"labelled": scope.Forbidden, "unbound": scope.Forbidden,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := resolve(t, test.cluster, names, test.selector)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]scope.State{}
			watched := 0
			for _, n := range all {
				got[n.Name] = n.State
				if n.State == scope.Watched {
					watched++
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			if n := len(scope.WatchedOf(all)); n != watched {
				t.Errorf("%d namespaces can be watched, want %d", n, watched)
			}
		})
	}
}

// A namespace that is watched costs two requests a look, and every loss is noticed.
func TestResolveAgain(t *testing.T) {
	k := cluster{granted: map[string]bool{"team": true}, asked: new(int)}
	c := k.client()
	r := &scope.Resolver{Client: c, Names: []string{"team"}, Rights: []authorizationv1.ResourceAttributes{{Resource: "pods", Verb: "list"}, {Resource: "secrets", Verb: "watch"}}}
	for _, want := range []struct {
		granted bool
		state   scope.State
		asked   int
	}{{true, scope.Watched, 2}, {true, scope.Watched, 1}, {false, scope.Forbidden, 1}, {true, scope.Watched, 2}} {
		k.granted["team"], *k.asked = want.granted, 0
		all, err := r.Resolve(t.Context())
		if err != nil || len(all) != 1 || all[0].State != want.state || *k.asked != want.asked {
			t.Errorf("%v, %v after %d questions, want %+v", all, err, *k.asked, want)
		}
	}
}

// An API server that does not answer tells nothing of a namespace.
func TestResolveFails(t *testing.T) {
	away := errors.New("away")
	for _, k := range []cluster{{reads: away}, {reviews: away}} {
		if all, err := resolve(t, k, []string{"team"}, ""); !errors.Is(err, away) {
			t.Errorf("%v, %v", all, err)
		}
	}
}

func resolve(t *testing.T, k cluster, names []string, selector string) ([]scope.Namespace, error) {
	t.Helper()
	c := k.client()
	r := &scope.Resolver{Client: c, Names: names, Rights: []authorizationv1.ResourceAttributes{{Resource: "pods", Verb: "list"}, {Resource: "secrets", Verb: "watch"}}}
	if selector != "" {
		var err error
		if r.Selector, err = labels.Parse(selector); err != nil {
			t.Fatal(err)
		}
	}
	return r.Resolve(t.Context())
}
