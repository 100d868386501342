package main

import "testing"

func TestUsesOperation(t *testing.T) {
	attacks := []byte(`a.send(ctx, client, "/v1/vote?id=x", "/v1/rank") g.ask(ctx, "get", "transaction", nil)`)
	for _, c := range []struct {
		face, operation string
		want            bool
	}{
		{"http", "POST /vote", true}, {"http", "GET /rank", true}, {"http", "GET /vote_history", false}, {"http", "POST /votes", false},
		{"gamelink", "get transaction", true}, {"gamelink", "refund drop", false}, {"events", "vote_update", true},
	} {
		if got := usesOperation(attacks, c.face, c.operation); got != c.want {
			t.Errorf("%s %s is used: %t", c.face, c.operation, got)
		}
	}
}

func TestUncoveredOperations(t *testing.T) {
	uncovered, err := listUncovered("../..")
	if err != nil || len(uncovered) == 0 {
		t.Errorf("%d operations are in no attack, %v", len(uncovered), err)
	}
	t.Log(uncovered)
}
