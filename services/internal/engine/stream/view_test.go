package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// view holds one node's belief about the owners of streams. It is often wrong, and its
// requests are lost, late, doubled or left without an answer.
type view struct {
	world  *world
	node   *node
	faults float64

	mu  sync.Mutex
	rng *rand.Rand
}

func (v *view) roll(n int) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.rng.IntN(n)
}

func (v *view) failing() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.rng.Float64() < v.faults
}

// Owner is the first node for every stream, but in one case of four.
func (v *view) Owner(string) stream.Peer {
	v.world.mu.Lock()
	defer v.world.mu.Unlock()
	owner := v.world.nodes[0]
	if v.roll(4) == 0 {
		owner = v.world.nodes[v.roll(len(v.world.nodes))]
	}
	if owner == v.node {
		return nil
	}
	return &link{view: v, to: owner}
}

func (v *view) Contenders(string) int { return max(0, v.roll(4)-1) }

// link is the way from one node to another.
type link struct {
	view *view
	to   *node
}

func (l *link) ID() string { return fmt.Sprintf("%p", l.to) }

var errLost = errors.New("link: no answer")

func (l *link) Send(ctx context.Context, request []byte, receive func(part []byte)) error {
	if !l.to.network.alive() {
		return stream.ErrNotSent
	}
	delay := time.Duration(l.view.roll(int(2 * time.Millisecond)))
	kind := -1
	if l.view.failing() {
		kind = l.view.roll(5)
	}
	time.Sleep(delay)
	switch kind {
	case 0:
		return stream.ErrNotSent
	case 1: // the request is lost
		return errLost
	case 2: // the request arrives long after its sender gave up on it
		l.view.world.late.Go(func() {
			time.Sleep(20 * delay)
			_ = l.to.engine.Serve(context.Background(), request, func([]byte) {})
		})
		return errLost
	case 3: // the request is delivered twice, once late, and both answers are lost
		l.view.world.late.Go(func() {
			time.Sleep(time.Duration(l.view.roll(int(20 * time.Millisecond))))
			_ = l.to.engine.Serve(context.Background(), request, func([]byte) {})
		})
	}
	lost := false
	err := l.to.engine.Serve(ctx, request, func(part []byte) {
		time.Sleep(delay / 2)
		if kind >= 3 || !l.to.network.alive() || !l.view.node.network.alive() { // what follows is lost
			lost = true
		}
		if !lost {
			receive(part)
		}
	})
	if lost {
		return errLost
	}
	return err
}
