package v1alpha1_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestNames checks what people type and what `kubectl get` shows them.
func TestNames(t *testing.T) {
	for plural, test := range map[string]struct {
		short   string
		columns []string
	}{
		"polls":            {"pl", []string{"Extension", "Channel", "Status", "Votes", "Leader", "Ready", "Age"}},
		"extensions":       {"ext", []string{"Client", "Ready", "Age"}},
		"backends":         {"be", []string{"Environment", "Pods", "Serving", "Host", "Image", "Ready", "Reason", "Looked", "Age"}},
		"backups":          {"bak", []string{"Backend", "Phase", "Stopped", "Age"}},
		"scheduledbackups": {"sbak", []string{"Backend", "Schedule", "Last Backup", "Ready", "Reason", "Degraded", "Age"}},
	} {
		content, err := os.ReadFile("../../config/crd/acclaim.dev_" + plural + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(content, &crd); err != nil {
			t.Fatal(err)
		}
		names := crd.Spec.Names
		if diff := cmp.Diff([][]string{{test.short}, {"acclaim"}}, [][]string{names.ShortNames, names.Categories}); diff != "" {
			t.Errorf("%s: short names and categories (-want +got):\n%s", plural, diff)
		}
		var shown []string
		for _, column := range crd.Spec.Versions[0].AdditionalPrinterColumns {
			if column.Priority == 0 {
				shown = append(shown, column.Name)
			}
		}
		if diff := cmp.Diff(test.columns, shown); diff != "" {
			t.Errorf("%s: columns (-want +got):\n%s", plural, diff)
		}
	}
}
