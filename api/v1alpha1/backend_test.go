package v1alpha1_test

import (
	"strings"
	"testing"
)

func TestBackendName(t *testing.T) {
	ctx, c := t.Context(), newClient(t)
	for _, name := range []string{strings.Repeat("a", 51), "a.b", "1a"} {
		refused(t, c.Create(ctx, object("Backend", name, nil)), "the name is part of the names of Services")
	}
	for _, name := range []string{strings.Repeat("a", 50), "a", "a-1"} {
		create(ctx, t, c, object("Backend", name, nil))
	}
}
