package publish

import (
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"io/fs"
	"testing"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// After a rotation the log goes on, for checkers with either key, and the earlier one can be removed
// in the end. A monitor learns the new key from the log.
func TestRotation(t *testing.T) {
	w := newWorld(t)
	w.configure("p", voting.Config{})
	w.vote("p", "a", 1)
	w.round()
	old := w.keys()
	monitor := verifiable.NewMonitor(old)
	w.must(monitor.Update(t.Context(), site{w}))
	_, early := w.receipt("p", "a", 1)

	seed := sha256.Sum256([]byte("a new key"))
	next := ed25519.NewKeyFromSeed(seed[:])
	for step, keys := range [][2]ed25519.PrivateKey{{next, testKey()}, {next, testKey()}, {next, nil}} {
		w.keyed = keys
		w.start()
		w.configure("p", voting.Config{}) // a leaf
		w.vote("p", "b", int64(step%2))
		w.round()
		w.round()
		if now := w.keys(); now.Origin() != old.Origin() || now[0].String() == old[0].String() {
			t.Fatalf("step %d: the log goes on as %s", step, now[0])
		}
		w.must(monitor.Update(t.Context(), site{w}))
		if len(monitor.Findings) > 0 || len(monitor.Keys) != 2 {
			t.Fatalf("step %d: the monitor has the keys %v and found %v", step, monitor.Keys, monitor.Findings)
		}
		checkers := []verifiable.Keys{{old[0], w.keys()[0]}}
		if keys[1] != nil {
			checkers = append(checkers, old)
		}
		for _, keys := range checkers {
			report, err := verifiable.VerifyReceipt(t.Context(), early, verifiable.ReceiptCheck{Keys: keys, Source: site{w}})
			if err != nil && !errors.Is(err, fs.ErrNotExist) || report.Recorded.Answer != verifiable.Yes || len(report.Findings) > 0 {
				t.Errorf("step %d: a receipt from before the rotation, with %d keys: %v, %+v", step, len(keys), err, report)
			}
		}
	}
	leaves := 0
	w.must(w.log.Leaves(t.Context(), 0, w.signed.tree.N, func(_ int64, data []byte) {
		if leaf, err := verifiable.ParseLogLeaf(data); err == nil && leaf.Kind == verifiable.LogKey {
			leaves++
		}
	}))
	if leaves != 1 {
		t.Errorf("%d leaves name a key", leaves)
	}
}
