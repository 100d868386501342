package main

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// A key that one process makes opens streams on every process, and ends them on every process
// once another one revokes it. Package live measures how soon.
func TestKeysOfAnotherProcess(t *testing.T) {
	t.Parallel()
	uri := mongotest.WithLongTimeouts(mongotest.Start(t))
	var replicas [2]*process
	for i := range replicas {
		replicas[i] = startProgram(t, t.TempDir(), "state", "--mongodb-uri", uri)
	}
	for route, body := range map[string]string{"/overlay_keys": `{"name":"stream PC"}`, "/staff_keys": `{"name":"Ada","scopes":["polls"]}`} {
		t.Run(route, func(t *testing.T) { testKeyOfAnotherProcess(t, replicas, route, body) })
	}
}

func testKeyOfAnotherProcess(t *testing.T, replicas [2]*process, route, body string) {
	broadcaster := sign(t, "broadcaster", "B")
	var key struct{ ID, Credential string }
	if fate, why := send(replicas[0], http.MethodPost, route, broadcaster, body, &key); fate != stored {
		t.Fatal(why)
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute) // a bound of the test
	defer stop()
	var listening sync.WaitGroup
	defer listening.Wait()
	for _, p := range replicas {
		begun := make(chan struct{})
		l := &follower{
			fleet: &fleet{t: t, replicas: []*process{p}}, header: key.Credential,
			received: make(chan receivedEvent, 16), ids: func() { close(begun) },
		}
		listening.Go(func() { l.listen(ctx, p) })
		select {
		case <-begun:
		case <-ctx.Done():
			t.Fatal("the key opens no stream")
		}
	}
	if fate, why := send(replicas[1], http.MethodDelete, route+"?id="+key.ID, broadcaster, "", nil); fate != stored {
		t.Fatal(why)
	}
	listening.Wait()
	if ctx.Err() != nil {
		t.Error("a stream of a revoked key goes on")
	}
	for i, p := range replicas {
		if status, err := p.do(http.MethodGet, "/events", key.Credential, "", nil); status != http.StatusUnauthorized {
			t.Errorf("process %d accepts a revoked key: %d, %v", i, status, err)
		}
	}
}
