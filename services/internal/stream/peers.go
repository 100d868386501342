package stream

import (
	"context"
	"errors"
)

// Peers are the other processes that serve the same streams. They know where
// each stream is at home, so that its commands meet in one engine instead of
// racing from several. Nothing that must be exact rests on them: views may
// differ, requests may come late, twice or not at all.
type Peers interface {
	// Owner returns the process at which a stream is at home, and nil when that is
	// this one or one that cannot be reached now.
	Owner(name string) Peer
	// Rivals returns how many other processes probably append to a stream, too,
	// because one of them cannot reach the one at which it is at home.
	Rivals(name string) int
}

// Peer is another process.
type Peer interface {
	// ID tells the process from every other.
	ID() string
	// Send hands a request to [Engine.Serve] of that process's engine for the same
	// domain and returns its answer. An error that wraps ErrNotSent is certain that
	// the request was not and will not be dealt with; any other leaves that open.
	Send(ctx context.Context, request []byte) (answer []byte, err error)
}

// ErrNotSent marks a request to a peer that nobody will deal with.
var ErrNotSent = errors.New("stream: the request was not sent")
