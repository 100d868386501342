package document

import (
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
)

// maxKeys limits the keys of a document, which every later version holds, too. The oldest are
// forgotten.
const maxKeys = 512

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

// withKey returns the keys with that of an edit, and without expired ones.
func withKey(keys []once.Kept, key *once.Key) []once.Kept {
	kept := slices.DeleteFunc(slices.Clone(keys), func(k once.Kept) bool { return once.IsExpired(k.At, key.At) })
	kept = append(kept, once.Kept{Mark: key.Marks[0], At: key.At})
	return kept[max(0, len(kept)-maxKeys):]
}
