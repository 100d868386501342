package transfer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
)

func TestScopeOfKinds(t *testing.T) {
	for name, test := range map[string]struct{ asked, want []string }{
		"none":           {nil, transfer.Kinds()},
		"by their names": {transfer.KindNames(), transfer.Kinds()},
		"as in files":    {[]string{"rankings", "votes"}, []string{transfer.Votes, transfer.Rankings}},
		"of both":        {[]string{"poll", "votes", "question"}, []string{transfer.Votes, transfer.Rankings}},
		"one":            {[]string{"roster"}, []string{transfer.Viewers}},
	} {
		scope, err := transfer.Scope{Kinds: test.asked}.Complete(transfer.JSONL)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, scope.Kinds); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := (transfer.Scope{Kinds: []string{"polls"}}).Complete(transfer.JSONL); fault.KindOf(err) != fault.Invalid {
		t.Errorf("an unknown kind: %v", err)
	}
}
