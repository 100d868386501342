package app

import (
	"context"
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/cluster/peer"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/store/pebblestore"
)

// embeddedBackend is the store of a process that is alone. A lock on the folder keeps other
// processes out.
type embeddedBackend struct{ *pebblestore.Store }

func openEmbedded(dir string) (*embeddedBackend, error) { return embed(pebblestore.Open(dir)) }

func openEmbeddedToRead(dir string) (*embeddedBackend, error) {
	return embed(pebblestore.OpenToRead(dir))
}

func openDamagedEmbedded(dir string) (*embeddedBackend, error) {
	return embed(pebblestore.OpenDamaged(dir))
}

func openExistingEmbedded(dir string) (*embeddedBackend, error) {
	return embed(pebblestore.OpenExisting(dir))
}

func embed(store *pebblestore.Store, err error) (*embeddedBackend, error) {
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	return &embeddedBackend{store}, nil
}

func (e *embeddedBackend) adaptOptions(_ string, options stream.Options) stream.Options {
	options.Exclusive = true
	return options
}

func (e *embeddedBackend) changes() changeSources {
	return changeSources{streams: e.Streams, streamsAfter: e.StreamsAfter}
}

func (e *embeddedBackend) servePeers(context.Context, map[string]peer.ServeFunc) error { return nil }

func (e *embeddedBackend) processes() int { return 1 }

func (e *embeddedBackend) checkHealth() error { return e.Err() }

func (e *embeddedBackend) checkReady(context.Context) error { return e.WriteErr() }

func (e *embeddedBackend) leaveMembers(context.Context) error { return nil }

func (e *embeddedBackend) close(context.Context) error { return e.Close() }
