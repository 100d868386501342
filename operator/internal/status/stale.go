package status

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// A cached copy may be older than what is stored, even older than what an earlier
// pass of the same controller wrote. The resource version tells: a write carries
// the one that it rests on, and where nothing is written CheckFresh compares it.
// Either way a stale copy is a conflict, which makes the controller try again.

// Patch writes the status of an object that was read as before, and reports
// whether it is written: it is not if the object is gone. A stale copy is a
// conflict.
func Patch(ctx context.Context, c client.Client, before, after client.Object) (written bool, err error) {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err = c.Status().Patch(ctx, after, patch)
	return err == nil, client.IgnoreNotFound(err)
}

// CheckFresh returns a conflict if a cached object is stale. live reads without a
// cache.
func CheckFresh(ctx context.Context, live client.Reader, cached client.Object) error {
	stored := cached.DeepCopyObject().(client.Object)
	if err := live.Get(ctx, client.ObjectKeyFromObject(cached), stored); err != nil {
		return err
	}
	if stored.GetResourceVersion() == cached.GetResourceVersion() {
		return nil
	}
	resource := schema.GroupResource{Group: v1alpha1.Group}
	return apierrors.NewConflict(resource, cached.GetName(), errors.New("the cached copy is stale"))
}
