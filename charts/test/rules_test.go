package test

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

const (
	web      = `{namespace="acclaim",pod="web-1"}`
	operator = `{namespace="acclaim",pod="operator-1"`
)

// A state raises the alerts about it and no other one, and each alert has a state that raises
// it. A series has a value for each minute, as in the tests of rules of promtool.
func TestAlertsFire(t *testing.T) {
	rules, raised := alerts(t), map[string]bool{}
	for name, test := range map[string]struct{ series, want []string }{
		"all is well": {series: []string{
			`acclaim_database_reachable` + web + ` 1x60`,
			`acclaim_http_request_duration_seconds_count{namespace="acclaim",status="200"} 0+1000x60`,
			`acclaim_http_request_duration_seconds_count{namespace="acclaim",status="500"} 0+1x60`,
			`acclaim_peers_unreachable` + web + ` 0x60`, `acclaim_database_pool_waiters` + web + ` 0x60`,
			`acclaim_stream_unknown_outcomes_total` + web + ` 7x60`, `acclaim_sink_retries_total` + web + ` 7x60`,
			`acclaim_tracing_spans_total{namespace="acclaim",outcome="exported"} 0+9x60`,
			`acclaim_budget_refused_total{namespace="acclaim",budget="pages",cause="share"} 0+9x60`,
			`acclaim_operator_polls` + operator + `,reason="InSync"} 9x60`,
			`acclaim_operator_task_failed{task="backup",cronjob="b"} 0x60`,
			`acclaim_operator_task_last_success_timestamp_seconds{task="backup",cronjob="b"} 1000000x60`,
		}},
		"everything was bad for one minute": {series: []string{
			`acclaim_database_reachable` + web + ` 1x9 0`, `acclaim_database_pool_waiters` + web + ` 0x9 3`, `acclaim_peers_unreachable` + web + ` 0x9 1`,
			`acclaim_http_request_duration_seconds_count{namespace="acclaim",status="200"} 0+49x10`,
			`acclaim_http_request_duration_seconds_count{namespace="acclaim",status="503"} 0x9 9`,
			`acclaim_stream_unknown_outcomes_total` + web + ` 0x9 4`, `acclaim_sink_retries_total` + web + ` 0x9 1`,
			`acclaim_budget_refused_total{namespace="acclaim",budget="pages",cause="all"} 0x9 1`,
			`acclaim_tracing_spans_total{namespace="acclaim",outcome="dropped"} 0x9 1`,
			`acclaim_operator_backends` + operator + `,environment="production",status="degraded"} 0x9 1`,
			`acclaim_operator_extensions` + operator + `,ready="False",reason="NoSecret"} 0x9 1`,
			`acclaim_operator_polls` + operator + `,reason="Rejected"} 0x9 1`,
			`acclaim_operator_task_failed{task="backup",cronjob="b"} 0x9 1`, `acclaim_operator_task_failed{task="verify",cronjob="v"} 0x9 1`,
			`acclaim_operator_task_last_success_timestamp_seconds{task="backup",cronjob="b"} 1000000x9 740800`,
			`acclaim_operator_task_last_success_timestamp_seconds{task="verify",cronjob="v"} 1000000x9 49600`,
		}},
		"the database is away":                     {[]string{`acclaim_database_reachable` + web + ` 1x9 0x1`}, []string{"AcclaimDatabaseAway"}},
		"one probe fails":                          {[]string{`acclaim_database_reachable` + web + ` 1x9 0`}, nil},
		"the database is back":                     {[]string{`acclaim_database_reachable` + web + ` 0x9 1`}, nil},
		"another pod reaches the database":         {[]string{`acclaim_database_reachable` + web + ` 0x9`, `acclaim_database_reachable{namespace="acclaim",pod="web-2"} 1x9`}, []string{"AcclaimDatabaseAway"}},
		"commands wait":                            {[]string{`acclaim_database_pool_waiters` + web + ` 3x12`}, []string{"AcclaimDatabaseSlow"}},
		"commands wait for six minutes":            {[]string{`acclaim_database_pool_waiters` + web + ` 0x9 3x6`}, nil},
		"commands wait, with a pause":              {[]string{`acclaim_database_pool_waiters` + web + ` 3x9 0 3x2`}, nil},
		"a peer is away":                           {[]string{`acclaim_peers_unreachable` + web + ` 1x6`}, []string{"AcclaimPeersUnreachable"}},
		"one request in fifty fails":               {[]string{`acclaim_http_request_duration_seconds_count{namespace="acclaim",status="200"} 0+49x20`, `acclaim_http_request_duration_seconds_count{namespace="acclaim",status="503"} 0+1x20`}, []string{"AcclaimRequestsFail"}},
		"an election leaves outcomes open":         {[]string{`acclaim_stream_unknown_outcomes_total` + web + ` 0x9 4x20`}, nil},
		"an election has just left outcomes open":  {[]string{`acclaim_stream_unknown_outcomes_total` + web + ` 0x9 4x10`}, nil},
		"outcomes stay open":                       {[]string{`acclaim_stream_unknown_outcomes_total` + web + ` 0+1x40`}, []string{"AcclaimOutcomesUnknown"}},
		"a receiver fails":                         {[]string{`acclaim_sink_retries_total` + web + ` 0+1x60`}, []string{"AcclaimSinkFails"}},
		"events are dropped":                       {[]string{`acclaim_sink_events_dropped_total` + web + ` 0x9 1`}, []string{"AcclaimSinkDropsEvents"}},
		"a budget is used up":                      {[]string{`acclaim_budget_refused_total{namespace="acclaim",budget="pages",cause="all"} 0+1x20`}, []string{"AcclaimBudgetUsedUp"}},
		"the collector is away":                    {[]string{`acclaim_tracing_spans_total{namespace="acclaim",outcome="dropped"} 0+1x40`}, []string{"AcclaimSpansLost"}},
		"a Backend is degraded":                    {[]string{`acclaim_operator_backends` + operator + `,environment="production",status="degraded"} 1x6`}, []string{"AcclaimBackendDegraded"}},
		"an Extension is not ready":                {[]string{`acclaim_operator_extensions` + operator + `,ready="False",reason="NoSecret"} 1x20`}, []string{"AcclaimExtensionsNotReady"}},
		"a Poll is not ready":                      {[]string{`acclaim_operator_polls` + operator + `,reason="Rejected"} 1x20`}, []string{"AcclaimPollsNotReady"}},
		"a backup fails":                           {[]string{`acclaim_operator_task_failed{task="backup",cronjob="b"} 1x6`}, []string{"AcclaimBackupFails"}},
		"a verification fails":                     {[]string{`acclaim_operator_task_failed{task="verify",cronjob="v"} 1x6`}, []string{"AcclaimVerifyFails"}},
		"the last backup is three days ago":        {[]string{`acclaim_operator_task_last_success_timestamp_seconds{task="backup",cronjob="b"} 740800x6`}, []string{"AcclaimBackupOverdue"}},
		"the last verification is three days ago":  {[]string{`acclaim_operator_task_last_success_timestamp_seconds{task="verify",cronjob="v"} 740800x6`}, nil},
		"the last verification is eleven days ago": {[]string{`acclaim_operator_task_last_success_timestamp_seconds{task="verify",cronjob="v"} 49600x6`}, []string{"AcclaimVerifyOverdue"}},
	} {
		t.Run(name, func(t *testing.T) {
			var fired []string
			for _, rule := range rules {
				if found := firing(t, rule, test.series); len(found) > 0 {
					fired = append(fired, rule.Alert)
					checkSummary(t, rule, found)
				}
			}
			if diff := cmp.Diff(test.want, fired); diff != "" {
				t.Errorf("alerts (-want +got):\n%s", diff)
			}
		})
		for _, alert := range test.want {
			raised[alert] = true
		}
	}
	for _, rule := range rules {
		if !raised[rule.Alert] {
			t.Errorf("no state above raises %s", rule.Alert)
		}
	}
}

// alerts returns the rules of the alerts.
func alerts(t *testing.T) (all []monitoringv1.Rule) {
	t.Helper()
	for _, object := range objects(t, "testdata/everything") {
		if rule, ok := object.(*monitoringv1.PrometheusRule); ok {
			for _, group := range rule.Spec.Groups {
				all = append(all, group.Rules...)
			}
		}
	}
	return all
}

// firstMinute is the time of the first value of each series, so many seconds after 1970.
const firstMinute = 1_000_000

// checkSummary checks that the labels in the summary of an alert are those of what fires.
func checkSummary(t *testing.T, rule monitoringv1.Rule, found promql.Matrix) {
	t.Helper()
	for _, label := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(rule.Annotations["summary"], -1) {
		if found[0].Metric.Get(label[1]) == "" {
			t.Errorf("the summary of %s has %s, which its expression does not keep", rule.Alert, label[1])
		}
	}
}

// firing returns what fires of an alert after the last minute of series: its expression has had
// a value in each minute of the time that it takes.
func firing(t *testing.T, rule monitoringv1.Rule, series []string) promql.Matrix {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 100_000, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})})
	t.Cleanup(func() { _ = engine.Close() }) // it has no file
	var pending time.Duration
	if rule.For != nil {
		duration, err := model.ParseDuration(string(*rule.For))
		if err != nil {
			t.Fatal(err)
		}
		pending = time.Duration(duration)
	}
	stored, last := loadSeries(t, series)
	query, err := engine.NewRangeQuery(t.Context(), stored, nil, rule.Expr.String(), last.Add(-pending), last, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()
	found, err := query.Exec(t.Context()).Matrix()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(found, func(s promql.Series) bool { return len(s.Floats) <= int(pending/time.Minute) })
}

// loadSeries returns a storage of series and the time of their last value.
func loadSeries(t *testing.T, series []string) (stored storage.Queryable, last time.Time) {
	t.Helper()
	var all []storage.Series
	for _, line := range series {
		name, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(line)
		if err != nil {
			t.Fatal(err)
		}
		s := promql.Series{Metric: name}
		for minute, value := range values {
			at := time.Unix(firstMinute, 0).Add(time.Duration(minute) * time.Minute)
			s.Floats = append(s.Floats, promql.FPoint{T: at.UnixMilli(), F: value.Value})
			last = at
		}
		all = append(all, promql.NewStorageSeries(s))
	}
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			return &seriesSet{left: slices.DeleteFunc(slices.Clone(all), func(s storage.Series) bool {
				return slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) })
			})}
		},
	}}, last
}

// seriesSet is a [storage.SeriesSet] of some series.
type seriesSet struct {
	left []storage.Series
	at   storage.Series
}

// Next implements [storage.SeriesSet].
func (s *seriesSet) Next() bool {
	if len(s.left) == 0 {
		return false
	}
	s.at, s.left = s.left[0], s.left[1:]
	return true
}

// At implements [storage.SeriesSet].
func (s *seriesSet) At() storage.Series { return s.at }

// Err implements [storage.SeriesSet].
func (*seriesSet) Err() error { return nil }

// Warnings implements [storage.SeriesSet].
func (*seriesSet) Warnings() annotations.Annotations { return nil }
