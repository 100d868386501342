// Package argocd_test runs config/argocd/health.lua with Argo CD's own interpreter and
// holds the sample Application to its schema, in a module of its own: Argo CD has more dependencies than the rest of the tree together.
// The operator's suites compare the script with kstatus for every object that they make.
package argocd_test

import (
	"maps"
	"os"
	"testing"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// objectState is a state of an object, as the API server stores it, and its health.
type objectState struct {
	object string
	want   health.HealthStatus
}

// states are the states of an object of any kind.
var states = map[string]objectState{
	"that no operator has seen": {
		`{metadata: {generation: 1}, status: {observedGeneration: -1}}`,
		health.HealthStatus{Status: health.HealthStatusProgressing, Message: "No operator has seen this version yet"},
	},
	"without a status": {
		`{metadata: {generation: 1}}`,
		health.HealthStatus{Status: health.HealthStatusProgressing, Message: "No operator has seen this version yet"},
	},
	"that is ready": {
		`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True", reason: InSync}]}}`,
		health.HealthStatus{Status: health.HealthStatusHealthy, Message: "InSync"},
	},
	"that was edited since": {
		`{metadata: {generation: 3}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True", reason: InSync}]}}`,
		health.HealthStatus{Status: health.HealthStatusProgressing, Message: "No operator has seen this version yet"},
	},
	"that waits": {
		`{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [
			{type: Ready, status: "False", reason: RefNotPermitted, message: why}, {type: Reconciling, status: "True", reason: RefNotPermitted, message: why}]}}`,
		health.HealthStatus{Status: health.HealthStatusProgressing, Message: "RefNotPermitted: why"},
	},
	"that needs a person": {
		`{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [
			{type: Ready, status: "False", reason: Conflict, message: why}, {type: Stalled, status: "True", reason: Conflict, message: why}]}}`,
		health.HealthStatus{Status: health.HealthStatusDegraded, Message: "Conflict: why"},
	},
	"that no operator holds any more": {
		`{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Ready, status: Unknown, reason: Released}]}}`,
		health.HealthStatus{Status: health.HealthStatusProgressing, Message: "Released"},
	},
	"that is being deleted": {
		`{metadata: {generation: 1, deletionTimestamp: "2030-01-01T00:00:00Z"}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True", reason: InSync}]}}`,
		health.HealthStatus{Status: health.HealthStatusProgressing, Message: "It is being deleted"},
	},
}

// suspended has the status of a Backend that hibernates. To Polls of it the reason is a problem.
const suspended = `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [
	{type: Ready, status: "False", reason: BackendSuspended, message: why}, {type: Stalled, status: "True", reason: BackendSuspended, message: why}]}}`

func TestHealth(t *testing.T) {
	script, err := os.ReadFile("../../config/argocd/health.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"Poll", "Extension", "Backend", "Backup", "ScheduledBackup"} {
		overrides := lua.ResourceHealthOverrides{"acclaim.dev/" + kind: v1alpha1.ResourceOverride{HealthLua: string(script)}}
		states := maps.Clone(states)
		states["that hibernates"] = objectState{suspended, health.HealthStatus{Status: health.HealthStatusDegraded, Message: "BackendSuspended: why"}}
		if kind == "Backend" {
			states["that hibernates"] = objectState{suspended, health.HealthStatus{Status: health.HealthStatusSuspended, Message: "BackendSuspended: why"}}
		}
		for name, state := range states {
			t.Run(kind+" "+name, func(t *testing.T) {
				o := unstructured.Unstructured{Object: map[string]any{}}
				content, err := yaml.YAMLToJSON([]byte(state.object))
				if err == nil {
					err = yaml.Unmarshal(content, &o.Object)
				}
				if err != nil {
					t.Fatal(err)
				}
				o.SetAPIVersion("acclaim.dev/v1alpha1")
				o.SetKind(kind)
				got, err := overrides.GetResourceHealth(&o)
				if err != nil {
					t.Fatal(err)
				}
				if got == nil || *got != state.want {
					t.Errorf("the health is %v, want %v", got, state.want)
				}
			})
		}
	}
}
