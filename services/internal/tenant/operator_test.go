package tenant_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// TestOperatorsFiles reads what the operator's renderer is held to write.
func TestOperatorsFiles(t *testing.T) {
	now := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	signing := func(r *tenant.Registry, environment tenant.Environment) map[string]string {
		signs := map[string]string{}
		for e := range r.Extensions() {
			if secret, ok := e.SigningSecret(environment, now); ok {
				signs[e.ClientID] = strings.TrimSuffix(string(secret.Value), keyPadding)
			}
		}
		return signs
	}
	for environment, test := range map[tenant.Environment]struct {
		other tenant.Environment
		want  map[string]string
	}{
		tenant.Production: {tenant.Sandbox, map[string]string{"whole": "new", "b-production": "line"}},
		tenant.Sandbox:    {tenant.Production, map[string]string{"whole": "other", "a-sandbox": "third"}},
	} {
		data, err := os.ReadFile(filepath.Join("../../../operator/internal/registry/testdata", string(environment)+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		registry := parse(t, string(data))
		if diff := cmp.Diff(test.want, signing(registry, environment)); diff != "" {
			t.Errorf("%s: signing keys (-want +got):\n%s", environment, diff)
		}
		if keys := signing(registry, test.other); len(keys) != 0 {
			t.Errorf("the file of %s has keys of %s", environment, test.other)
		}
		whole := extension(t, registry, "whole")
		if !whole.IsAdmin("1000") || !whole.IsAdmin("0x1f") || !whole.AllowsOrigin(environment, "https://a.example:8443") {
			t.Errorf("%s: %+v", environment, whole)
		}
		if signIn := whole.SignIn; (signIn != nil) != (environment == tenant.Production) || signIn != nil && (signIn.ClientSecret != "not base64" || len(signIn.Staff) != 2) {
			t.Errorf("%s: sign-in %+v", environment, signIn)
		}
		if issuers := whole.ViewerIssuers; (len(issuers) == 2) != (environment == tenant.Production) || len(issuers) > 0 && fmt.Sprint(issuers[0]) != "{{https://id.example votes [1e3 2] null https://votes.example/v1/viewer/callback} not base64}" {
			t.Errorf("%s: issuers of viewers %+v", environment, issuers)
		}
		sinks := map[tenant.Environment]string{tenant.Production: "[hook viewers]", tenant.Sandbox: "[viewers]"}
		if got := fmt.Sprint(whole.Sinks(environment)); got != sinks[environment] {
			t.Errorf("%s: sinks %s", environment, got)
		}
	}
}
