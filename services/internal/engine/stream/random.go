package stream

import (
	crand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"time"
)

// lockedRandom makes a source safe for the goroutines of an engine.
type lockedRandom struct {
	mu     sync.Mutex
	source rand.Source
}

func newRandom(source rand.Source) *lockedRandom {
	if source == nil {
		var seed [32]byte
		_, _ = crand.Read(seed[:]) // documented never to fail
		source = rand.NewChaCha8(seed)
	}
	return &lockedRandom{source: source}
}

func (r *lockedRandom) newChunkID() (id ChunkID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	binary.LittleEndian.PutUint64(id[:8], r.source.Uint64())
	binary.LittleEndian.PutUint64(id[8:], r.source.Uint64())
	return id
}

// upTo returns a duration below limit.
func (r *lockedRandom) upTo(limit time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Duration(r.source.Uint64() % uint64(limit))
}
