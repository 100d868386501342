package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
)

// The operator is ready while its cache is filled and the API server is ready.
func TestReadiness(t *testing.T) {
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("%s was asked for", r.URL.Path)
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	api := checkAPIServer(discovery.NewDiscoveryClientForConfigOrDie(&rest.Config{Host: server.URL}))
	if err := api(request); err != nil {
		t.Errorf("a ready API server: %v", err)
	}
	status = http.StatusInternalServerError
	if api(request) == nil {
		t.Error("ready, and the API server is not")
	}
	server.Close()
	if api(request) == nil {
		t.Error("ready, and there is no API server")
	}
	for _, filled := range []bool{false, true} {
		if err := checkCache(&informertest.FakeInformers{Synced: &filled})(request); (err == nil) != filled {
			t.Errorf("the cache being filled is %v: %v", filled, err)
		}
	}
}
