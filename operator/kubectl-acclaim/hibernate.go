package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

func newHibernate(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "hibernate on|off BACKEND",
		Short:   "Stop all pods of a Backend and keep its data, or start them again",
		Long:    `Hibernate sets spec.suspend of a Backend. Its pods end, and "off" starts them again.`,
		Example: `  kubectl acclaim hibernate on default --namespace acclaim`,
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if args[0] != "on" && args[0] != "off" {
				return fmt.Errorf("say on or off, not %q", args[0])
			}
			connection, err := s.connect()
			if err != nil {
				return err
			}
			if err := hibernate(c.Context(), connection, client.ObjectKey{Namespace: connection.namespace, Name: args[1]}, args[0] == "on"); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "backend.acclaim.dev/%s: hibernation is %s\n", args[1], args[0])
			return err
		},
	}
}

// hibernate suspends a Backend or ends that. A cluster whose CRDs are older than the field
// refuses it, where it would else ignore it.
func hibernate(ctx context.Context, c client.Client, name client.ObjectKey, on bool) error {
	b := &unstructured.Unstructured{}
	b.SetGroupVersionKind(schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: "Backend"})
	b.SetNamespace(name.Namespace)
	b.SetName(name.Name)
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, on))
	err := client.WithFieldValidation(c, metav1.FieldValidationStrict).Patch(ctx, b, patch)
	if err != nil && strings.Contains(err.Error(), `unknown field "spec.suspend"`) {
		return errors.New("the cluster's CRDs are older than hibernation: apply those of a newer version")
	}
	return err
}
