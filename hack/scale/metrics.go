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
)

// counts are how often something happened, by what it was.
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

// only returns the counts of what a condition holds for.
func (c counts) only(holds func(what string) bool) counts {
	some := maps.Clone(c)
	maps.DeleteFunc(some, func(what string, _ float64) bool { return !holds(what) })
	return some
}

// scrape reads the metrics at an address.
func scrape(ctx context.Context, c *http.Client, address string) (map[string]*dto.MetricFamily, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", request.URL, response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(response.Body)
}

// count adds up a family of counters or histograms by the values of labels,
// separated by spaces, of the series that have all the given ones.
func count(family *dto.MetricFamily, by []string, having map[string]string) counts {
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

// apiRequests returns how many requests about Polls and Events the API server
// answered, by verb and resource.
func (w *world) apiRequests(ctx context.Context) (counts, error) {
	config := w.environment.Config
	c, err := httpClientFor(config)
	if err != nil {
		return nil, err
	}
	families, err := scrape(ctx, c, config.Host)
	if err != nil {
		return nil, err
	}
	all := count(families["apiserver_request_total"], []string{"verb", "resource", "subresource"}, nil)
	return all.only(func(what string) bool {
		fields := strings.Fields(what)
		return len(fields) > 1 && slices.Contains([]string{"polls", "events"}, fields[1])
	}), nil
}

// votingRequests returns how many requests the voting service answered, by
// method and route.
func (w *world) votingRequests(ctx context.Context) (counts, error) {
	families, err := scrape(ctx, http.DefaultClient, w.votingAdmin)
	if err != nil {
		return nil, err
	}
	return count(families["acclaim_http_request_duration_seconds"], []string{"method", "route"}, nil), nil
}

// operatorWrites returns how many requests other than GET the operator sent to
// the API server since it was started, by method.
func (w *world) operatorWrites(ctx context.Context) (counts, error) {
	families, err := scrape(ctx, http.DefaultClient, w.admin)
	if err != nil {
		return nil, err
	}
	return count(families["rest_client_requests_total"], []string{"method"}, nil).only(isWrite), nil
}

// reconciles returns how often the operator looked at a Poll and how many still
// wait for it.
func (w *world) reconciles(ctx context.Context) (done, waiting float64, err error) {
	families, err := scrape(ctx, http.DefaultClient, w.admin)
	if err != nil {
		return 0, 0, err
	}
	done = count(families["controller_runtime_reconcile_total"], nil, map[string]string{"controller": "poll"}).sum()
	waiting = count(families["workqueue_depth"], nil, map[string]string{"controller": "poll"}).sum() +
		count(families["controller_runtime_active_workers"], nil, map[string]string{"controller": "poll"}).sum()
	return done, waiting, nil
}

// cpu returns the processor time that the operator has used since it was started.
func (w *world) cpu(ctx context.Context) (time.Duration, error) {
	families, err := scrape(ctx, http.DefaultClient, w.admin)
	if err != nil {
		return 0, err
	}
	seconds := count(families["process_cpu_seconds_total"], nil, nil).sum()
	return time.Duration(seconds * float64(time.Second)).Round(10 * time.Millisecond), nil
}

// isWrite says whether a verb changes something.
func isWrite(what string) bool {
	verb, _, _ := strings.Cut(what, " ")
	return !slices.Contains([]string{"GET", "LIST", "WATCH", "HEAD"}, verb)
}
