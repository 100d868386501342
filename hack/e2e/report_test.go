package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"

	"github.com/acclaim-dev/acclaim/hack/processor"
)

// report holds the measurements in their order.
type report struct {
	rows   [][2]string
	loads  []*outcome
	memory []memory
	failed []string
	// unclear are failed requests that nothing fails for.
	unclear []string
}

// outcome holds what became of a load.
type outcome struct {
	requests, failures, unclear int
	planned                     bool // nothing may fail
}

// outage is the number of requests that may fail in all loads together, while things are
// killed and lost.
const outage = 200

// memory holds the memory of all pods at one time.
type memory struct {
	when string
	pods map[string]int64 // bytes
}

func (r *report) add(what, measured string) { r.rows = append(r.rows, [2]string{what, measured}) }

func (r *report) took(what string, since time.Time) {
	r.add(what, time.Since(since).Round(time.Millisecond).String())
}

// sum returns the outcome of all loads, and that of those in which nothing may fail.
func (r *report) sum() (all, planned outcome) {
	for _, o := range r.loads {
		all.add(o)
		if o.planned {
			planned.add(o)
		}
	}
	return all, planned
}

func (o *outcome) add(other *outcome) {
	o.requests += other.requests
	o.failures += other.failures
	o.unclear += other.unclear
}

func (o *outcome) String() string {
	return fmt.Sprintf("%d of %d, and %d unclear", o.failures, o.requests, o.unclear)
}

// expectFewFailures holds the whole suite to its promise.
func (r *report) expectFewFailures() {
	all, planned := r.sum()
	Expect(all.failures).To(BeNumerically("<=", outage), "failed requests in the whole suite: %v", &all)
	Expect(planned.failures).To(BeZero(), "failed requests where none is allowed: %v", &planned)
}

// fail adds a spec that failed.
func (r *report) fail(spec, why string) {
	r.failed = append(r.failed, fmt.Sprintf("FAILED: %s: %.1500s", spec, why))
}

// leave adds failed requests of a time in which the host took processors away.
func (r *report) leave(during, requests string) {
	r.unclear = append(r.unclear, fmt.Sprintf("UNCLEAR, as the host took more than %.0f %% of the processors away: %s: %.1500s", 100*processor.MuchStolen, during, requests))
}

// write writes one table for people, and one of memory by pod. What failed comes
// last, because CI keeps the end of a long output.
func (r *report) write(to io.Writer) {
	table := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	line := func(cells ...string) { _, _ = fmt.Fprintln(table, strings.Join(cells, "\t")) }
	line("", "")
	for _, row := range r.rows {
		line(row[0], row[1])
	}
	all, planned := r.sum()
	line(fmt.Sprintf("failed requests, in all (%d are allowed)", outage), all.String())
	line("failed requests, where none is allowed", planned.String())
	line("")
	for _, m := range r.memory {
		line("MEMORY, "+m.when, "MiB")
		pods := make([]string, 0, len(m.pods))
		for pod := range m.pods {
			pods = append(pods, pod)
		}
		slices.Sort(pods)
		for _, pod := range pods {
			line(pod, fmt.Sprintf("%.0f", float64(m.pods[pod])/(1<<20)))
		}
	}
	_ = table.Flush()
	for _, line := range slices.Concat(r.unclear, r.failed) {
		_, _ = fmt.Fprintln(to, line)
	}
}

// measureMemory adds the memory that every pod of the namespace has, once the
// metrics API answers and knows of so many: a pod comes to it some time after it
// has begun.
func (w *world) measureMemory(ctx context.Context, when string, pods int) {
	Eventually(ctx, func() error { return w.readMemory(ctx, when, pods) }).WithPolling(time.Second).Should(Succeed())
}

func (w *world) readMemory(ctx context.Context, when string, pods int) error {
	clientset, err := kubernetes.NewForConfig(w.config)
	if err != nil {
		return err
	}
	content, err := clientset.RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/namespaces", w.namespace, "pods").DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		w.report.add("memory, "+when, "not known: the cluster has no metrics API")
		return nil
	}
	if err != nil {
		return err
	}
	var list struct {
		Items []struct {
			Metadata   struct{ Name string }
			Containers []struct {
				Usage struct{ Memory resource.Quantity }
			}
		}
	}
	if err := json.Unmarshal(content, &list); err != nil {
		return err
	}
	if len(list.Items) < pods {
		return fmt.Errorf("the metrics of %d pods are there, %d are missing", len(list.Items), pods-len(list.Items))
	}
	m := memory{when: when, pods: map[string]int64{}}
	for _, pod := range list.Items {
		for _, container := range pod.Containers {
			m.pods[pod.Metadata.Name] += container.Usage.Memory.Value()
		}
	}
	w.report.memory = append(w.report.memory, m)
	return nil
}
