package httpapi_test

import (
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/operation"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
)

// The document groups the operations by tags. Several tags belong to the service
// state.
func TestRoutesOfServices(t *testing.T) {
	services := map[string]string{
		"voting":       operation.VotingService,
		"accumulation": operation.AccumulationService,
		"ranking":      operation.RankingService,
		"state":        operation.StateService,
		"config":       operation.StateService,
		"session":      operation.StateService,
		"events":       operation.StateService,
		"games":        operation.StateService,
		"overlays":     operation.StateService,
		"staff":        operation.StateService,
		"purchases":    operation.StateService,
		"empty":        operation.StateService,
		"sandbox":      operation.SandboxService,
	}
	documented, served := map[string]string{}, map[string]string{}
	for _, op := range loadContract(t).operations(t) {
		for _, tag := range op.Tags {
			documented[op.name()] += services[tag]
		}
	}
	for _, route := range httpapi.Routes() {
		served[route.Method+" "+route.Path] = route.Service
	}
	if diff := cmp.Diff(documented, served); diff != "" {
		t.Errorf("documented (-), served (+):\n%s", diff)
	}
}

// Proxies tell the services apart by path alone.
func TestPathsOfServices(t *testing.T) {
	if diff := cmp.Diff([]string{"/vote", "/vote_logs", "/vote_modifier", "/vote_config", "/vote_history", "/votes", "/devices", "/poll", "/polls", "/receipt", "/pictures"}, operation.Paths(operation.VotingService)); diff != "" {
		t.Errorf("paths of voting (-want +got):\n%s", diff)
	}
	services := map[string]string{}
	for _, route := range httpapi.Routes() {
		if other, known := services[route.Path]; known && other != route.Service {
			t.Errorf("%s belongs to %s and to %s", route.Path, other, route.Service)
		}
		services[route.Path] = route.Service
	}
}
