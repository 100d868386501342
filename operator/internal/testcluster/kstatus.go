package testcluster

import (
	"context"
	"errors"
	"fmt"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// CheckStatuses compares what kstatus, and so Helm and Flux, and Argo CD make of every
// resource of the project in a namespace with its conditions.
func (c *Cluster) CheckStatuses(ctx context.Context, namespace string) error {
	var wrong []error
	for _, kind := range []string{"Poll", "Extension", "Backend", "Backup", "ScheduledBackup"} {
		var list unstructured.UnstructuredList
		list.SetAPIVersion(v1alpha1.Group + "/" + v1alpha1.Version)
		list.SetKind(kind + "List")
		if err := c.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			o := &list.Items[i]
			result, err := kstatus.Compute(o)
			if err != nil {
				return err
			}
			if want := statusOf(o); result.Status != want {
				wrong = append(wrong, fmt.Errorf("%s %s is %s (%s), want %s: %v", kind, o.GetName(), result.Status, result.Message, want, o.Object["status"]))
			}
			health, err := healthOf(c.root, o.Object)
			if err != nil {
				return err
			}
			if want := argoHealth(o); health != want {
				wrong = append(wrong, fmt.Errorf("%s %s is %q to Argo CD, want %q: %v", kind, o.GetName(), health, want, o.Object["status"]))
			}
		}
	}
	return errors.Join(wrong...)
}

// CheckCurrent reports what is not current by kstatus among the project's resources in a
// namespace, and that there are not as many as wanted.
func (c *Cluster) CheckCurrent(ctx context.Context, namespace string, want int) error {
	var wrong []error
	count := 0
	for _, kind := range []string{"Poll", "Extension", "Backend", "Backup", "ScheduledBackup"} {
		var list unstructured.UnstructuredList
		list.SetAPIVersion(v1alpha1.Group + "/" + v1alpha1.Version)
		list.SetKind(kind + "List")
		if err := c.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		count += len(list.Items)
		for i := range list.Items {
			result, err := kstatus.Compute(&list.Items[i])
			if err != nil {
				return err
			}
			if result.Status != kstatus.CurrentStatus {
				wrong = append(wrong, fmt.Errorf("%s %s is %s: %s", kind, list.Items[i].GetName(), result.Status, result.Message))
			}
		}
	}
	if count != want {
		wrong = append(wrong, fmt.Errorf("the namespace %s has %d resources, want %d", namespace, count, want))
	}
	return errors.Join(wrong...)
}

// statusOf returns the status that a resource reports with its conditions.
func statusOf(o *unstructured.Unstructured) kstatus.Status {
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	switch {
	case o.GetDeletionTimestamp() != nil:
		return kstatus.TerminatingStatus
	case observed != o.GetGeneration():
		return kstatus.InProgressStatus
	case isTrue(o, v1alpha1.Ready):
		return kstatus.CurrentStatus
	case isTrue(o, v1alpha1.Stalled):
		return kstatus.FailedStatus
	}
	return kstatus.InProgressStatus
}

func isTrue(o *unstructured.Unstructured, condition string) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if fields, ok := c.(map[string]any); ok && fields["type"] == condition {
			return fields["status"] == "True"
		}
	}
	return false
}
