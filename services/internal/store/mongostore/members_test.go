package mongostore_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/cluster/peer"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/store/mongostore"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// A member's record comes back whole; one of an earlier release has no level.
func TestMembersComeBack(t *testing.T) {
	s, err := mongostore.Open(t.Context(), mongotest.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(t.Context())) })
	want := peer.Member{ID: "a", Heartbeat: 7, Address: "127.0.0.1:1", Digest: []byte{1}, Unreachable: []string{"b"}, Serves: []string{"poll/"}, Level: 1}
	for _, want.Level = range []stream.Level{1, 0} {
		if err := s.WriteHeartbeat(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		got, err := s.Members(t.Context())
		if diff := cmp.Diff([]peer.Member{want}, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}
