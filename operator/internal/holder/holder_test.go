package holder_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/holder"
)

func TestPredicate(t *testing.T) {
	type annotations = map[string]string
	held := func(by string) annotations { return annotations{v1alpha1.OperatorAnnotation: by} }
	paused := annotations{v1alpha1.OperatorAnnotation: "a/one", v1alpha1.PausedAnnotation: "true"}
	for _, test := range []struct {
		name          string
		before, after annotations
		want          bool
	}{
		{"claimed, which its operator need not be woken for", nil, held("a/one"), false},
		{"the same", held("a/one"), held("a/one"), false},
		{"handed over", held("a/one"), held("b/two"), true},
		{"freed", held("a/one"), nil, true},
		{"paused", held("a/one"), paused, true},
		{"resumed", paused, held("a/one"), true},
		{"another annotation", nil, annotations{"example.com/any": "thing"}, false},
	} {
		before, after := &v1alpha1.Poll{}, &v1alpha1.Poll{}
		before.Annotations, after.Annotations = test.before, test.after
		if got := holder.NewPredicate().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
