package stream_test

import (
	"context"
	"errors"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// slowLink is the way to an owner that gets requests only when the test delivers them.
type slowLink struct{ requests [][]byte }

func (l *slowLink) Owner(string) stream.Peer { return l }
func (*slowLink) Contenders(string) int      { return 0 }
func (*slowLink) ID() string                 { return "owner" }

func (l *slowLink) Send(_ context.Context, request []byte) ([]byte, error) {
	l.requests = append(l.requests, request)
	return nil, errors.New("connection reset")
}

// A command that was refused after its request to the owner seemed lost is not accepted
// when that request arrives after all, although nothing forbids it any more.
func TestRefusedCommandWhoseRequestIsLate(t *testing.T) {
	store, link := storetest.NewMemory(), &slowLink{}
	owner := newEngine(store, stream.Options{})
	sender := newEngine(store, stream.Options{Peers: link})
	if _, err := owner.Do(t.Context(), testStream, post{id: 1, amount: viewerLimit, who: "viewer-1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := sender.Do(t.Context(), testStream, post{id: 2, amount: 1, who: "viewer-1"}); !errors.Is(err, errLimit) {
		t.Errorf("got %v, want the limit", err)
	}
	if _, err := owner.Do(t.Context(), testStream, post{id: 3, amount: 0}); err != nil {
		t.Fatal(err)
	}
	for _, request := range link.requests {
		if _, err := owner.Serve(t.Context(), request); err != nil {
			t.Error(err)
		}
	}
	if n := sum(t, owner); len(link.requests) == 0 || n != 0 {
		t.Errorf("after %d late requests the sum is %d, want 0", len(link.requests), n)
	}
	mustClose(t, sender)
	mustClose(t, owner)
}
