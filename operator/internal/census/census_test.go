package census_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/acclaim-dev/acclaim/operator/internal/census"
)

// Each namespace has its own series, so that the trouble of one does not hide that of another.
func TestCensus(t *testing.T) {
	pod := func(namespace, name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: corev1.PodStatus{Phase: "Failed"}}
	}
	counted := &census.Census[corev1.Pod]{
		From:   fake.NewClientBuilder().WithObjects(pod("a", "one"), pod("a", "two"), pod("b", "one")).Build(),
		List:   func() client.ObjectList { return &corev1.PodList{} },
		Metric: prometheus.GaugeOpts{Name: "pods", Help: "Pods by phase."},
		Labels: []string{"phase"},
		Values: func(p *corev1.Pod) []string { return []string{string(p.Status.Phase)} },
	}
	want := `
		# HELP pods Pods by phase.
		# TYPE pods gauge
		pods{phase="Failed",resource_namespace="a"} 2
		pods{phase="Failed",resource_namespace="b"} 1
	`
	if err := testutil.CollectAndCompare(counted, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// unfilled is a cache that waits to be filled until the context of a list ends.
type unfilled struct{ client.Reader }

func (unfilled) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	<-ctx.Done()
	return ctx.Err()
}

// A cache that is not filled gives no metric and does not hold the others of a collection.
func TestCollectionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counted := &census.Census[corev1.Pod]{
			From:   unfilled{},
			List:   func() client.ObjectList { return &corev1.PodList{} },
			Metric: prometheus.GaugeOpts{Name: "pods", Help: "Pods."},
		}
		if n := testutil.CollectAndCount(counted); n != 0 {
			t.Errorf("%d metrics", n)
		}
	})
}
