package document

import (
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
)

// usualKeys limits the keys of a document, which every later version holds, too, and mostKeys
// those that are young. The oldest are forgotten.
const usualKeys, mostKeys = 512, 4096

// findKey reports whether a document has the key of an edit. The error is [once.ErrReused]
// where another request had it.
func findKey(keys []once.Kept, key *once.Key) (known bool, err error) {
	_, known, err = key.Find(func(m once.Mark) (request [8]byte, ok bool) {
		for _, k := range keys {
			if k.Owner == m.Owner && k.Key == m.Key && !once.IsExpired(k.At, key.At) {
				key.Before = k
				return k.Request, true
			}
		}
		return request, false
	})
	key.Replayed = known
	return known, err
}

// withKey returns the keys with that of an edit, and without expired ones and old ones above
// usualKeys. It fails with [once.ErrFull] where the owner of the key has as many as there is room
// for others.
func withKey(keys []once.Kept, key *once.Key) ([]once.Kept, error) {
	kept := slices.DeleteFunc(slices.Clone(keys), func(k once.Kept) bool { return once.IsExpired(k.At, key.At) })
	for len(kept) >= usualKeys && once.IsOld(kept[0].At, key.At) {
		kept = kept[1:]
	}
	own := 0
	for _, k := range kept {
		if k.Owner == key.Marks[0].Owner {
			own++
		}
	}
	if own >= mostKeys-len(kept) {
		return nil, once.ErrFull
	}
	return append(kept, once.Kept{Mark: key.Marks[0], At: key.At}), nil
}
