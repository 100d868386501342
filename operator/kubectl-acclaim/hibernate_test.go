package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestHibernate(t *testing.T) {
	var patched, validation string
	var refusal error
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			if refusal != nil {
				return refusal
			}
			content, err := p.Data(o)
			patched = o.GetNamespace() + "/" + o.GetName() + " " + string(content)
			all := client.PatchOptions{}
			validation = all.ApplyOptions(options).AsPatchOptions().FieldValidation
			return err
		},
	}).Build()
	for on, want := range map[bool]string{true: `team/default {"spec":{"suspend":true}}`, false: `team/default {"spec":{"suspend":false}}`} {
		if err := hibernate(t.Context(), c, client.ObjectKey{Namespace: "team", Name: "default"}, on); err != nil {
			t.Fatal(err)
		}
		if patched != want || validation != metav1.FieldValidationStrict {
			t.Errorf("patched %s with the validation %q, want %s and Strict", patched, validation, want)
		}
	}
	refusal = errors.New(`"" is invalid: patch: Invalid value: "{…}": strict decoding error: unknown field "spec.suspend"`) // of Kubernetes 1.36
	if err := hibernate(t.Context(), c, client.ObjectKey{Name: "default"}, true); err == nil || !strings.Contains(err.Error(), "CRDs are older") {
		t.Errorf("older CRDs: %v", err)
	}
	command := newCommand()
	command.SetArgs([]string{"hibernate", "maybe", "default"})
	if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "on or off") {
		t.Errorf("maybe: %v", err)
	}
}
