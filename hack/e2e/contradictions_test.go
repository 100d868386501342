package e2e_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the proof at the end of every load finds in logs that are wrong.
func TestContradictions(t *testing.T) {
	l := &load{votes: map[string]vote{"U1": {0, true}, "U2": {2, true}, "U3": {1, false}}}
	for name, test := range map[string]struct {
		log  []record
		want []string
	}{
		"all":               {[]record{{"U1", 0}, {"U2", 2}, {"U3", 1}}, nil},
		"without a doubted": {[]record{{"U2", 2}, {"U1", 0}}, nil},
		"lost":              {[]record{{"U2", 2}}, []string{"U1 is not in the log, and was acknowledged"}},
		"twice":             {[]record{{"U1", 0}, {"U2", 2}, {"U1", 0}}, []string{"U1 is in the log twice"}},
		"changed":           {[]record{{"U1", 1}, {"U2", 2}}, []string{"U1 did not vote 1"}},
		"a doubted changed": {[]record{{"U1", 0}, {"U2", 2}, {"U3", 0}}, []string{"U3 did not vote 0"}},
		"of nobody":         {[]record{{"U1", 0}, {"U2", 2}, {"U4", 0}}, []string{"U4 did not vote 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := l.contradictions(test.log)
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("contradictions (-want +got):\n%s", diff)
			}
		})
	}
}
