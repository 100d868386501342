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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"

	"github.com/acclaim-dev/acclaim/hack/processor"
)

// report holds the measurements in their order. Processes of the suite send it in JSON.
type report struct {
	Rows   [][2]string
	Loads  []*outcome
	Memory []memory
	Failed []string
	// Unclear are failed requests that nothing fails for.
	Unclear []string
}

// outcome holds what became of a load.
type outcome struct {
	Requests, Failures, Unclear int
	Planned                     bool // nothing may fail
}

// outage is the number of requests that may fail in all loads together, while things are
// killed and lost.
const outage = 200

// memory holds the memory of all pods at one time.
type memory struct {
	When string
	Pods map[string]int64 // bytes
}

// measurements names the entry that has a world's report in the report of the suite.
const measurements = "measurements"

// reportAll reports what a world has measured, and its state when a spec fails.
func (w *world) reportAll() {
	AfterEach(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			AddReportEntry("the namespace when it failed", w.describe(ctx))
		}
	}, NodeTimeout(time.Minute))
	AfterAll(func() { AddReportEntry(measurements, ReportEntryVisibilityNever, &w.report) })
}

// sumReports returns the reports of all worlds as one, with the specs that failed.
func sumReports(all Report) *report {
	sum := &report{}
	for _, spec := range all.SpecReports {
		if spec.Failed() {
			sum.fail(spec.FullText(), spec.FailureMessage())
		}
		for _, entry := range spec.ReportEntries {
			if entry.Name != measurements {
				continue
			}
			var r report
			content, err := json.Marshal(entry.Value.GetRawValue())
			Expect(err).NotTo(HaveOccurred())
			Expect(json.Unmarshal(content, &r)).To(Succeed())
			sum.Rows = append(sum.Rows, r.Rows...)
			sum.Loads = append(sum.Loads, r.Loads...)
			sum.Memory = append(sum.Memory, r.Memory...)
			sum.Unclear = append(sum.Unclear, r.Unclear...)
		}
	}
	return sum
}

func (r *report) add(what, measured string) { r.Rows = append(r.Rows, [2]string{what, measured}) }

func (r *report) took(what string, since time.Time) {
	r.add(what, time.Since(since).Round(time.Millisecond).String())
}

// sum returns the outcome of all loads, and that of those in which nothing may fail.
func (r *report) sum() (all, planned outcome) {
	for _, o := range r.Loads {
		all.add(o)
		if o.Planned {
			planned.add(o)
		}
	}
	return all, planned
}

func (o *outcome) add(other *outcome) {
	o.Requests += other.Requests
	o.Failures += other.Failures
	o.Unclear += other.Unclear
}

func (o *outcome) String() string {
	return fmt.Sprintf("%d of %d, and %d unclear", o.Failures, o.Requests, o.Unclear)
}

// expectFewFailures holds the whole suite to its promise.
func (r *report) expectFewFailures() {
	all, planned := r.sum()
	Expect(all.Failures).To(BeNumerically("<=", outage), "failed requests in the whole suite: %v", &all)
	Expect(planned.Failures).To(BeZero(), "failed requests where none is allowed: %v", &planned)
}

// fail adds a spec that failed.
func (r *report) fail(spec, why string) {
	r.Failed = append(r.Failed, fmt.Sprintf("FAILED: %s: %.1500s", spec, why))
}

// leave adds failed requests of a time in which the host took processors away.
func (r *report) leave(during, requests string) {
	r.Unclear = append(r.Unclear, fmt.Sprintf("UNCLEAR, as the host took more than %.0f %% of the processors away: %s: %.1500s", 100*processor.MuchStolen, during, requests))
}

// write writes one table for people, and one of memory by pod. What failed comes
// last, because CI keeps the end of a long output.
func (r *report) write(to io.Writer) {
	table := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	line := func(cells ...string) { _, _ = fmt.Fprintln(table, strings.Join(cells, "\t")) }
	line("", "")
	for _, row := range r.Rows {
		line(row[0], row[1])
	}
	all, planned := r.sum()
	line(fmt.Sprintf("failed requests, in all (%d are allowed)", outage), all.String())
	line("failed requests, where none is allowed", planned.String())
	line("")
	for _, m := range r.Memory {
		line("MEMORY, "+m.When, "MiB")
		pods := make([]string, 0, len(m.Pods))
		for pod := range m.Pods {
			pods = append(pods, pod)
		}
		slices.Sort(pods)
		for _, pod := range pods {
			line(pod, fmt.Sprintf("%.0f", float64(m.Pods[pod])/(1<<20)))
		}
	}
	_ = table.Flush()
	for _, line := range slices.Concat(r.Unclear, r.Failed) {
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
	m := memory{When: when, Pods: map[string]int64{}}
	for _, pod := range list.Items {
		for _, container := range pod.Containers {
			m.Pods[pod.Metadata.Name] += container.Usage.Memory.Value()
		}
	}
	w.report.Memory = append(w.report.Memory, m)
	return nil
}
