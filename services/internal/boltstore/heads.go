package boltstore

import (
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// headsKept is how many streams and documents the writer knows the heads of
// without asking the records.
const headsKept = 1 << 16

// heads are the last seqs and versions of what was written most recently. The
// writer alone uses them.
type heads = simplelru.LRU[string, uint64]

func newHeads() *heads {
	h, err := simplelru.NewLRU[string, uint64](headsKept, nil)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return h
}
