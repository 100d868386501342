package verifiable_test

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// The committed site is the one that the model of a server writes: three votes in a closed poll, with
// Alice's receipt, the key, and the policy that names the witness of log/witnessed.
func TestSite(t *testing.T) {
	s := tell(t)
	s.end()
	s.poll.now = &verifiable.NowShown{Votes: verifiable.ShownVotes{Count: "3", Sum: "3", Specific: nil}}
	files := s.files()
	seed := [32]byte{7}
	witness := ed25519.NewKeyFromSeed(seed[:])
	files["log/witnessed"] = &fstest.MapFile{Data: cosign(t, files["log/checkpoint"].Data, "witness.example", witness)}
	key := s.signer.Key().String() + "\n"
	files["log/vkeys"] = &fstest.MapFile{Data: []byte(key)}
	all := map[string][]byte{
		"vkey":                  []byte(key),
		"policy":                []byte("witness w " + witnessKey("witness.example", witness) + "\nquorum w\n"),
		"alice.acclaim-receipt": s.poll.receipt("alice", s.alice),
	}
	for path, file := range files {
		all["site/"+path] = file.Data
	}
	for path, want := range all {
		path = filepath.Join("testdata", path)
		if *update {
			must(t, os.MkdirAll(filepath.Dir(path), 0o750))
			must(t, os.WriteFile(path, want, 0o600))
		}
		got, err := os.ReadFile(path)
		must(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs; -update writes it again", path)
		}
	}
}
