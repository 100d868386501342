package test

import (
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// The ServiceMonitor leads to the metrics of every pod, those of the chart and
// those that the operator makes, and to each once.
func TestServiceMonitor(t *testing.T) {
	backend, err := os.ReadFile("../../operator/internal/desired/testdata/default.golden.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := append(objects(t, "testdata/everything"), decode(t, strings.Split(string(backend), "\n---\n"))...)
	var monitor *monitoringv1.ServiceMonitor
	var services []*corev1.Service
	var deployments []*appsv1.Deployment
	for _, object := range all {
		switch object := object.(type) {
		case *monitoringv1.ServiceMonitor:
			monitor = object
		case *corev1.Service:
			services = append(services, object)
		case *appsv1.Deployment:
			deployments = append(deployments, object)
		}
	}
	selected, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, s := range services {
		if !selected.Matches(labels.Set(s.Labels)) {
			continue
		}
		for _, d := range deployments {
			if s.Namespace == d.Namespace && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(d.Spec.Template.Labels)) && leads(s, monitor.Spec.Endpoints[0].Port, d) {
				found[d.Name]++
			}
		}
	}
	for _, d := range deployments {
		if found[d.Name] != 1 {
			t.Errorf("%s is scraped %d times", d.Name, found[d.Name])
		}
	}
	if len(deployments) < 5 {
		t.Errorf("there are only %d Deployments", len(deployments))
	}
}

// leads reports whether a Deployment's pods have a port of a Service.
func leads(s *corev1.Service, port string, d *appsv1.Deployment) bool {
	return slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.Name == port && slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].Ports, func(c corev1.ContainerPort) bool {
			return c.Name == p.TargetPort.StrVal
		})
	})
}

// The runbook has a section for each alert, which names its address, and none for another. Its
// first word tells to wake someone or to wait, as the severity does.
func TestRunbook(t *testing.T) {
	content, err := os.ReadFile("../../services/docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	urgency := map[string]string{}
	for _, section := range regexp.MustCompile(`(?m)^### (Acclaim\w+)\n(\w+\.)?`).FindAllStringSubmatch(string(content), -1) {
		urgency[section[1]] = section[2]
	}
	severity := map[string]string{"Page.": "critical", "Ticket.": "warning", "Note.": "info"}
	for _, rule := range alerts(t) {
		said, exists := urgency[rule.Alert]
		if !exists {
			t.Errorf("the runbook has no section %s", rule.Alert)
		}
		if severity[said] == "" || severity[said] != rule.Labels["severity"] {
			t.Errorf("the runbook says of %s %q, and its severity is %q", rule.Alert, said, rule.Labels["severity"])
		}
		delete(urgency, rule.Alert)
		if address := rule.Annotations["runbook_url"]; !strings.HasSuffix(address, "/services/docs/runbook.md#"+strings.ToLower(rule.Alert)) {
			t.Errorf("%s leads to %q", rule.Alert, address)
		}
	}
	for alert := range urgency {
		t.Errorf("the runbook has a section %s, and there is no such alert", alert)
	}
}

// Prometheus takes the rules, down to the templates in what alerts say.
func TestRules(t *testing.T) {
	for _, object := range objects(t, "testdata/everything") {
		rule, ok := object.(*monitoringv1.PrometheusRule)
		if !ok {
			continue
		}
		content, err := yaml.Marshal(rule.Spec)
		if err != nil {
			t.Fatal(err)
		}
		_, errs := rulefmt.Parse(content, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
		for _, err := range errs {
			t.Error(err)
		}
		return
	}
	t.Error("there are no rules")
}
