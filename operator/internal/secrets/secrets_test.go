package secrets_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/acclaim-dev/acclaim/operator/internal/secrets"
)

func TestClient(t *testing.T) {
	ctx, where := t.Context(), client.ObjectKey{Namespace: "default", Name: "keys"}
	stored := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "keys"}, Data: map[string][]byte{"key": []byte("one")}}
	api := fake.NewClientBuilder().WithObjects(stored).Build()
	var reads int
	var failure error
	live := interceptor.NewClient(api, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
		reads++
		if failure != nil {
			return failure
		}
		return c.Get(ctx, key, o, options...)
	}})
	// The cache has metadata alone, and may be behind.
	behind := false
	cached := interceptor.NewClient(api, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
		if _, whole := o.(*corev1.Secret); whole {
			t.Error("a whole Secret is asked of the cache")
		}
		if behind {
			return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
		}
		return c.Get(ctx, key, o, options...)
	}})
	c := secrets.New(cached, live, secrets.Access{Sees: func(string) bool { return true }})
	read := func(want string, wantReads int) {
		t.Helper()
		var got corev1.Secret
		if err := c.Get(ctx, where, &got); err != nil || string(got.Data["key"]) != want || reads != wantReads {
			t.Errorf("%q, %v after %d reads, want %q after %d", got.Data["key"], err, reads, want, wantReads)
		}
		got.Data["key"][0] = '?' // is the caller's own
	}

	behind = true
	read("one", 1)
	behind = false
	read("one", 1)
	read("one", 1)
	stored.Data["key"] = []byte("two")
	if err := api.Update(ctx, stored); err != nil {
		t.Fatal(err)
	}
	failure = errors.New("no API server")
	if err := c.Get(ctx, where, &corev1.Secret{}); !errors.Is(err, failure) {
		t.Errorf("error is %v, want %v: what is known is out of date", err, failure)
	}
	failure = nil
	read("two", 3)

	if err := api.Delete(ctx, stored); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(ctx, where, &corev1.Secret{}); !apierrors.IsNotFound(err) || reads != 4 {
		t.Errorf("error is %v after %d reads, want not found after 4", err, reads)
	}
	var other corev1.ConfigMap
	if err := c.Get(ctx, where, &other); !apierrors.IsNotFound(err) || reads != 4 {
		t.Errorf("a ConfigMap: %v after %d live reads", err, reads)
	}
}

// A Secret that is not there, not in a watched namespace or not granted is left out; every
// other failure is one of the read.
func TestUnreadable(t *testing.T) {
	api := fake.NewClientBuilder().WithObjects(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "keys"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "left", Name: "keys"}},
	).Build()
	away := errors.New("no API server")
	live := interceptor.NewClient(api, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
		switch key.Name {
		case "refused":
			return apierrors.NewForbidden(corev1.Resource("secrets"), key.Name, nil)
		case "away":
			return away
		}
		return c.Get(ctx, key, o, options...)
	}})
	unwatched := interceptor.NewClient(api, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errors.New("the cache was asked")
	}})
	c := secrets.New(unwatched, live, secrets.Access{Sees: func(namespace string) bool { return namespace == "team" }, ByName: true})
	for namespace, want := range map[string]int{"team": 1, "left": 0} {
		contents, err := secrets.ReadAll(t.Context(), c, namespace, []string{"keys", "missing", "refused"}, secrets.IsUnreadable)
		if err != nil || len(contents) != want {
			t.Errorf("%s: %d Secrets, %v, want %d", namespace, len(contents), err, want)
		}
	}
	if _, err := secrets.ReadAll(t.Context(), c, "team", []string{"away"}, secrets.IsUnreadable); !errors.Is(err, away) {
		t.Errorf("error is %v", err)
	}
}
