package test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
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
	operator = `{namespace="live",pod="acclaim-operator-1",resource_namespace="quiz"`
	itself   = `{namespace="live",pod="acclaim-operator-1"`
	voting   = `{namespace="quiz",pod="default-voting-5d9f-x2k",container="voting"`
	// lastBackup and lastCheck are metrics of the release's own.
	lastBackup = `acclaim_operator_backup_last_success_timestamp_seconds{resource_namespace="live",backend="default"} `
	lastCheck  = `acclaim_operator_task_last_success_timestamp_seconds{task="verify",resource_namespace="live",cronjob="live/acclaim-production-verify"} `
	lastDrill  = `acclaim_operator_task_last_success_timestamp_seconds{task="drill",resource_namespace="live",cronjob="live/acclaim-production-drill"} `
	// present is a metric that each operator has. A state without it has an operator.
	present = "acclaim_operator_drift_corrected_total"
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
			`acclaim_results_failures_total` + web + ` 7x60`, `acclaim_results_mark_taken` + web + ` 0x60`, `acclaim_results_refused_total` + web + ` 0x60`,
			`acclaim_operator_polls` + operator + `,reason="InSync"} 9x60`,
			`acclaim_operator_backends` + operator + `,environment="production",status="ready"} 1x60`,
			`leader_election_master_status` + itself + `,name="operator.acclaim.dev"} 1x60`,
			`leader_election_master_status{namespace="live",pod="acclaim-operator-2",name="operator.acclaim.dev"} 0x60`,
			`process_start_time_seconds` + itself + `} 7x60`, `workqueue_depth` + itself + `,controller="poll"} 2x9 0x50`,
			`controller_runtime_reconcile_total` + itself + `,controller="poll",result="success"} 0+9x60`,
			`controller_runtime_reconcile_total` + itself + `,controller="poll",result="error"} 0+1x60`,
			`kube_pod_container_status_restarts_total` + voting + `} 7x60`,
			`kube_pod_container_status_last_terminated_reason` + voting + `,reason="OOMKilled"} 1x60`,
			`acclaim_operator_task_failed{task="backup",resource_namespace="quiz",cronjob="b"} 0x60`,
			`acclaim_operator_task_last_success_timestamp_seconds{task="backup",resource_namespace="quiz",cronjob="b"} 1000000x60`,
		}},
		"everything was bad for one minute": {series: []string{
			`acclaim_database_reachable` + web + ` 1x9 0`, `acclaim_database_pool_waiters` + web + ` 0x9 3`, `acclaim_peers_unreachable` + web + ` 0x9 1`,
			`acclaim_http_request_duration_seconds_count{namespace="acclaim",status="200"} 0+49x10`,
			`acclaim_http_request_duration_seconds_count{namespace="acclaim",status="503"} 0x9 9`,
			`acclaim_stream_unknown_outcomes_total` + web + ` 0x9 4`, `acclaim_sink_retries_total` + web + ` 0x9 1`,
			`acclaim_budget_refused_total{namespace="acclaim",budget="pages",cause="all"} 0x9 1`,
			`acclaim_results_failures_total` + web + ` 0x9 1`, `acclaim_results_mark_taken` + web + ` 0x9 1`,
			`acclaim_tracing_spans_total{namespace="acclaim",outcome="dropped"} 0x9 1`,
			`acclaim_operator_backends` + operator + `,environment="production",status="degraded"} 0x9 1`,
			`acclaim_operator_extensions` + operator + `,ready="False",reason="NoSecret"} 0x9 1`,
			`acclaim_operator_polls` + operator + `,reason="Rejected"} 0x9 1`,
			`acclaim_operator_namespaces` + operator + `,resource_namespace="team",state="missing"} 0x9 1`,
			present + itself + `} 0x9 _`, `leader_election_master_status` + itself + `,name="operator.acclaim.dev"} 1x9 0`,
			`process_start_time_seconds` + itself + `} 7x9 8`, `workqueue_depth` + itself + `,controller="poll"} 0x9 2`,
			`controller_runtime_reconcile_total` + itself + `,controller="poll",result="error"} 0x9 9`,
			`kube_pod_container_status_restarts_total` + voting + `} 0x9 1`,
			`acclaim_operator_task_failed{task="backup",resource_namespace="quiz",cronjob="b"} 0x9 1`, `acclaim_operator_task_failed{task="verify",resource_namespace="quiz",cronjob="v"} 0x9 1`,
			`acclaim_operator_task_failed{task="drill",resource_namespace="quiz",cronjob="d"} 0x9 1`,
			lastBackup + `1000000x9 740800`, lastCheck + `1000000x9 49600`, lastDrill + `1000000x9 49600`,
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
		"results are not signed":                   {[]string{`acclaim_results_failures_total` + web + ` 0+1x30`}, []string{"AcclaimResultsNotSigned"}},
		"the mark is another log's":                {[]string{`acclaim_results_mark_taken` + web + ` 1x12`}, []string{"AcclaimResultsNotSigned"}},
		"the mark was another log's":               {[]string{`acclaim_results_mark_taken` + web + ` 1x9 0x3`}, nil},
		"a poll contradicts what was signed":       {[]string{`acclaim_results_refused_total` + web + ` 0x9 1x9`}, []string{"AcclaimResultsContradict"}},
		"a budget is used up":                      {[]string{`acclaim_budget_refused_total{namespace="acclaim",budget="pages",cause="all"} 0+1x20`}, []string{"AcclaimBudgetUsedUp"}},
		"the collector is away":                    {[]string{`acclaim_tracing_spans_total{namespace="acclaim",outcome="dropped"} 0+1x40`}, []string{"AcclaimSpansLost"}},
		"a Backend is degraded":                    {[]string{`acclaim_operator_backends` + operator + `,environment="production",status="degraded"} 1x6`}, []string{"AcclaimBackendDegraded"}},
		"an Extension is not ready":                {[]string{`acclaim_operator_extensions` + operator + `,ready="False",reason="NoSecret"} 1x20`}, []string{"AcclaimExtensionsNotReady"}},
		"a Poll is not ready":                      {[]string{`acclaim_operator_polls` + operator + `,reason="Rejected"} 1x20`}, []string{"AcclaimPollsNotReady"}},
		"a namespace is gone":                      {[]string{`acclaim_operator_namespaces` + operator + `,resource_namespace="team",state="missing"} 1x20`, `acclaim_operator_namespaces` + operator + `,resource_namespace="team",state="watched"} 0x20`}, []string{"AcclaimNamespaceNotWatched"}},
		"all namespaces are watched":               {[]string{`acclaim_operator_namespaces` + operator + `,resource_namespace="team",state="missing"} 0x20`, `acclaim_operator_namespaces` + operator + `,resource_namespace="team",state="watched"} 1x20`}, nil},
		"two teams' Polls are not ready":           {[]string{`acclaim_operator_polls` + operator + `,reason="Conflict"} 1x20`, `acclaim_operator_polls{namespace="live",pod="acclaim-operator-1",resource_namespace="team",reason="Conflict"} 1x20`}, []string{"AcclaimPollsNotReady", "AcclaimPollsNotReady"}},
		"no operator runs":                         {[]string{present + itself + `} 0 _x20`}, []string{"AcclaimOperatorAbsent"}},
		"no operator runs, nor does a backup":      {[]string{present + itself + `} 0 _x60`, lastBackup + `830000 _x60`}, []string{"AcclaimOperatorAbsent", "AcclaimBackupOverdue"}},
		"another operator runs elsewhere":          {[]string{present + `{namespace="other"} 0x20`}, []string{"AcclaimOperatorAbsent"}},
		"no operator leads":                        {[]string{`leader_election_master_status` + itself + `,name="operator.acclaim.dev"} 0x6`}, []string{"AcclaimOperatorWithoutLeader"}},
		"the other operator leads":                 {[]string{`leader_election_master_status` + itself + `,name="operator.acclaim.dev"} 0x6`, `leader_election_master_status{namespace="live",pod="acclaim-operator-2",name="operator.acclaim.dev"} 1x6`}, nil},
		"the operator restarts":                    {[]string{`process_start_time_seconds` + itself + `} 1 2 3 4 5`}, []string{"AcclaimOperatorRestarts"}},
		"the operator does not keep up":            {[]string{`workqueue_depth` + itself + `,controller="poll",priority="0"} 0+2x40`}, []string{"AcclaimOperatorBehind"}},
		"the operator has much to do":              {[]string{`workqueue_depth` + itself + `,controller="poll",priority="0"} 900x9 0 900x20`}, nil},
		"reconciliations fail":                     {[]string{`controller_runtime_reconcile_total` + itself + `,controller="poll",result="error"} 0+2x40`, `controller_runtime_reconcile_total` + itself + `,controller="poll",result="success"} 0+1x40`}, []string{"AcclaimOperatorFails"}},
		"a pod of a Backend restarts":              {[]string{`kube_pod_container_status_restarts_total` + voting + `} 1+1x9`}, []string{"AcclaimPodsRestart"}},
		"a pod of the operator restarts":           {[]string{`kube_pod_container_status_restarts_total` + itself + `,container="operator"} 1+1x9`}, []string{"AcclaimPodsRestart"}},
		"a pod of another program restarts":        {[]string{`kube_pod_container_status_restarts_total{namespace="quiz",pod="web-5d9f-x2k",container="web"} 1+1x9`, `kube_pod_container_status_restarts_total{namespace="other",pod="default-voting-5d9f-x2k",container="voting"} 1+1x9`}, nil},
		"a pod runs out of memory":                 {[]string{`kube_pod_container_status_restarts_total` + voting + `} 1x9 2x9`, `kube_pod_container_status_last_terminated_reason` + voting + `,reason="OOMKilled"} _x9 1x9`}, []string{"AcclaimPodsOutOfMemory"}},
		"a Backend has no backup":                  {[]string{`acclaim_operator_backends` + operator + `,environment="production",status="ready"} 1x61`, `acclaim_operator_task_last_success_timestamp_seconds{task="backup",resource_namespace="acclaim",cronjob="b"} 1000000x61`}, []string{"AcclaimBackupMissing"}},
		"a Backend has a backup":                   {[]string{`acclaim_operator_backends` + operator + `,environment="production",status="ready"} 1x61`, `acclaim_operator_task_last_success_timestamp_seconds{task="backup",resource_namespace="quiz",cronjob="b"} 1000000x61`}, nil},
		"a backup fails":                           {[]string{`acclaim_operator_task_failed{task="backup",resource_namespace="quiz",cronjob="b"} 1x6`}, []string{"AcclaimBackupFails"}},
		"a verification fails":                     {[]string{`acclaim_operator_task_failed{task="verify",resource_namespace="quiz",cronjob="v"} 1x6`}, []string{"AcclaimVerifyFails"}},
		"the last backup is three days ago":        {[]string{lastBackup + `740800x6`, `acclaim_operator_backup_max_age_seconds{resource_namespace="live",backend="default"} 172800x6`}, []string{"AcclaimBackupOverdue"}},
		"the backup of a removed CronJob is old":   {[]string{`acclaim_operator_task_last_success_timestamp_seconds{task="backup",resource_namespace="live",cronjob="live/acclaim-backup-production"} 740800x6`}, nil},
		"the check of a removed CronJob is old":    {[]string{`acclaim_operator_task_last_success_timestamp_seconds{task="verify",resource_namespace="live",cronjob="live/acclaim-verify-production"} 49600x6`}, nil},
		"a drill fails":                            {[]string{`acclaim_operator_task_failed{task="drill",resource_namespace="quiz",cronjob="d"} 1x6`}, []string{"AcclaimDrillFails"}},
		"the last drill is three days ago":         {[]string{lastDrill + `740800x6`}, nil},
		"the last drill is eleven days ago":        {[]string{lastDrill + `49600x6`}, []string{"AcclaimDrillOverdue"}},
		"the last verification is three days ago":  {[]string{lastCheck + `740800x6`}, nil},
		"the last verification is eleven days ago": {[]string{lastCheck + `49600x6`}, []string{"AcclaimVerifyOverdue"}},
		"a Backend has no backup of its promise": {[]string{
			`acclaim_operator_backup_last_success_timestamp_seconds{resource_namespace="team",backend="b"} 740800x6`,
			`acclaim_operator_backup_max_age_seconds{resource_namespace="team",backend="b"} 93600x6`,
		}, []string{"AcclaimBackendWithoutBackup"}},
		"a Backend has a backup of its promise": {[]string{
			`acclaim_operator_backup_last_success_timestamp_seconds{resource_namespace="team",backend="b"} 999000x6`,
			`acclaim_operator_backup_max_age_seconds{resource_namespace="team",backend="b"} 93600x6`,
		}, nil},
		"Polls of a suspended Backend": {[]string{`acclaim_operator_polls` + operator + `,reason="BackendSuspended"} 1x20`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var fired []string
			for _, rule := range rules {
				for _, s := range firing(t, rule, test.series) {
					fired = append(fired, rule.Alert)
					checkLabels(t, rule, s)
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

// checkLabels checks that the labels in the summary of an alert are those of what fires, and that
// Alertmanager can route it by the namespace.
func checkLabels(t *testing.T, rule monitoringv1.Rule, s promql.Series) {
	t.Helper()
	for _, label := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(rule.Annotations["summary"], -1) {
		if s.Metric.Get(label[1]) == "" {
			t.Errorf("the summary of %s has %s, which its expression does not keep", rule.Alert, label[1])
		}
	}
	namespace := s.Metric.Get("namespace")
	if rule.Labels["namespace"] == "{{ $labels.resource_namespace }}" {
		namespace = s.Metric.Get("resource_namespace")
	}
	if namespace == "" {
		t.Errorf("%s has no namespace", rule.Alert)
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

// loadSeries returns a storage of series and the time of their last value. It has an operator
// unless a series says that it has none.
func loadSeries(t *testing.T, series []string) (stored storage.Queryable, last time.Time) {
	t.Helper()
	last = time.Unix(firstMinute, 0)
	var all []storage.Series
	for _, line := range series {
		s, until := parseSeries(t, line)
		if all = append(all, s); until.After(last) {
			last = until
		}
	}
	if !slices.ContainsFunc(series, func(line string) bool { return strings.HasPrefix(line, present) }) {
		s, _ := parseSeries(t, fmt.Sprintf("%s%s} 0x%d", present, itself, (last.Unix()-firstMinute)/60))
		all = append(all, s)
	}
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			return &seriesSet{left: slices.DeleteFunc(slices.Clone(all), func(s storage.Series) bool {
				return slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) })
			})}
		},
	}}, last
}

// parseSeries returns a series, written as in the tests of rules of promtool, and the time of its
// last value.
func parseSeries(t *testing.T, line string) (parsed storage.Series, last time.Time) {
	t.Helper()
	name, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(line)
	if err != nil {
		t.Fatal(err)
	}
	s := promql.Series{Metric: name}
	for minute, value := range values {
		last = time.Unix(firstMinute, 0).Add(time.Duration(minute) * time.Minute)
		if !value.Omitted {
			s.Floats = append(s.Floats, promql.FPoint{T: last.UnixMilli(), F: value.Value})
		}
	}
	return promql.NewStorageSeries(s), last
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
