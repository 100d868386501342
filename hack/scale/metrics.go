package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// counts holds how often something happened, by its kind.
type counts map[string]float64

// since returns what was added since an earlier count.
func (c counts) since(before counts) counts {
	added := counts{}
	for what, n := range c {
		if d := n - before[what]; d != 0 {
			added[what] = d
		}
	}
	return added
}

func (c counts) sum() (sum float64) {
	for _, n := range c {
		sum += n
	}
	return sum
}

// filter returns the counts of what a condition holds for.
func (c counts) filter(holds func(what string) bool) counts {
	some := maps.Clone(c)
	maps.DeleteFunc(some, func(what string, _ float64) bool { return !holds(what) })
	return some
}

// scrapeMetrics reads the metrics at an address.
func scrapeMetrics(ctx context.Context, c *http.Client, address string) (map[string]*dto.MetricFamily, error) {
	response, err := harness.Send(ctx, c, http.MethodGet, strings.TrimSuffix(address, "/")+"/metrics", "", "")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", address, response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(response.Body)
}

// countSeries adds up a family of counters or histograms by the values of labels,
// separated by spaces, of the series that have all the given ones.
func countSeries(family *dto.MetricFamily, by []string, having map[string]string) counts {
	c := counts{}
	for _, m := range family.GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		matches := true
		for name, value := range having {
			matches = matches && labels[name] == value
		}
		if !matches {
			continue
		}
		var values []string
		for _, name := range by {
			if value := labels[name]; value != "" {
				values = append(values, value)
			}
		}
		c[strings.Join(values, " ")] += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return c
}

// metricsReading holds the metrics of the servers and of the operator at one time,
// counted since each started.
type metricsReading struct {
	api     counts // requests to the API server about Polls and Events, by verb, resource and status
	voting  counts // requests to the voting service, by method and route
	written counts // requests of the operator to the API server that change something, by method
	looks   float64
	cpu     time.Duration
	// resident is the memory of the operator, peak the most it had, in bytes.
	resident, peak int64
}

// since returns what was added since an earlier reading, and memory as it is.
func (r metricsReading) since(before metricsReading) metricsReading {
	r.api, r.voting, r.written = r.api.since(before.api), r.voting.since(before.voting), r.written.since(before.written)
	r.looks -= before.looks
	r.cpu -= before.cpu
	return r
}

func (w *world) readMetrics(ctx context.Context) (r metricsReading, err error) {
	if r.api, err = w.apiRequests(ctx); err != nil {
		return r, err
	}
	if r.voting, err = w.votingRequests(ctx); err != nil {
		return r, err
	}
	families, err := scrapeMetrics(ctx, http.DefaultClient, w.admin)
	if err != nil {
		return r, err
	}
	r.written = countSeries(families["rest_client_requests_total"], []string{"method"}, nil).filter(isWrite)
	seconds := countSeries(families["process_cpu_seconds_total"], nil, nil).sum()
	r.cpu = time.Duration(seconds * float64(time.Second)).Round(10 * time.Millisecond)
	if r.looks, _, err = w.countReconciles(ctx); err != nil {
		return r, err
	}
	r.resident, r.peak = harness.ReadMemory(w.operator.Command.Process.Pid)
	return r, nil
}

func (w *world) apiRequests(ctx context.Context) (counts, error) {
	config := w.environment.Config
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	families, err := scrapeMetrics(ctx, c, config.Host)
	if err != nil {
		return nil, err
	}
	all := countSeries(families["apiserver_request_total"], []string{"verb", "resource", "subresource", "code"}, nil)
	return all.filter(func(what string) bool {
		fields := strings.Fields(what)
		return len(fields) > 1 && slices.Contains([]string{"polls", "events"}, fields[1])
	}), nil
}

func (w *world) votingRequests(ctx context.Context) (counts, error) {
	families, err := scrapeMetrics(ctx, http.DefaultClient, w.votingAdmin)
	if err != nil {
		return nil, err
	}
	return countSeries(families["acclaim_http_request_duration_seconds"], []string{"method", "route"}, nil), nil
}

// countReconciles returns how often the operator looked at a Poll, and how many objects of
// any kind still wait for it.
func (w *world) countReconciles(ctx context.Context) (done, waiting float64, err error) {
	families, err := scrapeMetrics(ctx, http.DefaultClient, w.admin)
	if err != nil {
		return 0, 0, err
	}
	done = countSeries(families["controller_runtime_reconcile_total"], nil, map[string]string{"controller": "poll"}).sum()
	waiting = countSeries(families["workqueue_depth"], nil, nil).sum() + countSeries(families["controller_runtime_active_workers"], nil, nil).sum()
	return done, waiting, nil
}

// isWrite reports whether a verb changes something.
func isWrite(what string) bool {
	verb, _, _ := strings.Cut(what, " ")
	return !slices.Contains([]string{"GET", "LIST", "WATCH", "HEAD"}, verb)
}
