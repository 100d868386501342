package app

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/cluster/peer"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/store/mongostore"
	"github.com/acclaim-dev/acclaim/services/internal/store/pebblestore"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
)

// Store is a store as commands use it: it can be listed, and it takes over documents
// from another store.
type Store interface {
	stream.Store
	document.Store
	// Streams yields the names of the streams that begin with prefix.
	Streams(ctx context.Context, prefix string) iter.Seq2[string, error]
	// Keys yields the keys of the documents that begin with prefix.
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
	// Restore stores a document with its version and write id.
	Restore(ctx context.Context, key string, d document.Document) error
}

// backend is the store of a process that serves, and the other processes that share
// it.
type backend interface {
	Store
	members
	changes() changeSources
	checkHealth() error
	checkReady(ctx context.Context) error
	close(ctx context.Context) error
}

// members are the live processes over a store, this one included.
type members interface {
	// processes returns their number.
	processes() int
	// adaptOptions returns options for the engine of a kind of streams that they share.
	adaptOptions(kind string, options stream.Options) stream.Options
	// servePeers begins to answer what the others forward to the engines.
	servePeers(ctx context.Context, engines map[string]peer.ServeFunc) error
	leaveMembers(ctx context.Context) error
}

// spaceGauge is a store that knows how much room its disk has left.
type spaceGauge interface {
	// Low reports whether there is so little that only staff may write. It returns at once.
	Low() bool
}

// changeSources are the ways in which a store tells what it holds and what other processes
// write.
type changeSources struct {
	streams func(ctx context.Context, prefix string) iter.Seq2[string, error]
	// streamsAfter yields the names after one.
	streamsAfter func(ctx context.Context, prefix, after string) iter.Seq2[string, error]

	tail  event.Tail // nil where no other process writes
	watch func(ctx context.Context, touch func(name string, head uint64), watching func(error)) error
	// written is called with what this process writes; nil likewise.
	written event.HintReceiver
}

// openBackend opens the store of a process, nil where no service has streams.
func openBackend(ctx context.Context, config Config, watch *limit.Watch, metrics *telemetry.Metrics) (backend, error) {
	switch {
	case !slices.ContainsFunc(config.Services, func(s Service) bool { return s.Kind != "" || s.Name == GameLinkService }):
		return nil, nil //nolint:nilnil // no store is no error
	case config.Store.MongoDBURI != "":
		return openDatabase(ctx, config, watch, metrics)
	}
	return embed(pebblestore.OpenOn(config.Machine.Disk, config.Store.DataDir))
}

// OpenStore opens a store for a command and creates an embedded one that does not
// exist. The store is closed by calling closeStore.
func OpenStore(ctx context.Context, config StoreConfig) (store Store, closeStore func() error, err error) {
	return openStore(ctx, config, openEmbedded)
}

// OpenExistingStore is OpenStore for a command that needs a store that exists.
func OpenExistingStore(ctx context.Context, config StoreConfig) (store Store, closeStore func() error, err error) {
	return openStore(ctx, config, openExistingEmbedded)
}

// OpenStoreToRead is OpenExistingStore for a command that only reads: it changes no file of
// an embedded store.
func OpenStoreToRead(ctx context.Context, config StoreConfig) (store Store, closeStore func() error, err error) {
	if config.Damaged {
		return openStore(ctx, config, openDamagedEmbedded)
	}
	return openStore(ctx, config, openEmbeddedToRead)
}

func openStore(ctx context.Context, config StoreConfig, openFolder func(dir string) (*embeddedBackend, error)) (Store, func() error, error) {
	if config.MongoDBURI == "" {
		folder, err := openFolder(config.DataDir)
		if err != nil {
			return nil, nil, err
		}
		return folder, folder.Close, nil
	}
	database, err := mongostore.Open(ctx, config.MongoDBURI)
	if err != nil {
		return nil, nil, fmt.Errorf("open the database: %w", err)
	}
	return database, func() error { return database.Close(context.WithoutCancel(ctx)) }, nil
}
