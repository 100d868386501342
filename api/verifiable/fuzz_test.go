package verifiable_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// readVectors returns the committed vectors, which are the seeds.
func readVectors(f *testing.F) (v vectors) {
	f.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		f.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		f.Fatal(err)
	}
	return v
}

func addSeed(f *testing.F, text string) {
	f.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
}

// same fails unless encoding what was decoded gives the same bytes.
func same(t *testing.T, data, again []byte, err error) {
	t.Helper()
	if err != nil || !bytes.Equal(data, again) {
		t.Fatalf("%x is accepted and becomes %x, %v", data, again, err)
	}
}

func FuzzEntry(f *testing.F) {
	for _, e := range readVectors(f).Entries {
		addSeed(f, e.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, err := verifiable.ParseEntry(data); err == nil {
			again, err := e.Encode()
			same(t, data, again, err)
		}
	})
}

func FuzzConfig(f *testing.F) {
	c := lunch()
	text, err := c.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := verifiable.ParseConfig(data); err == nil {
			again, err := c.Encode()
			same(t, data, again, err)
		}
	})
}

func FuzzLogLeaf(f *testing.F) {
	for _, l := range readVectors(f).LogLeaves {
		addSeed(f, l.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, err := verifiable.ParseLogLeaf(data); err == nil {
			again, err := l.Encode()
			same(t, data, again, err)
		}
	})
}

func FuzzSums(f *testing.F) {
	for _, p := range readVectors(f).Polls {
		addSeed(f, p.SumsData)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := verifiable.ParseSums(data)
		if err != nil {
			return
		}
		same(t, data, s.Append(nil), nil)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var again verifiable.Sums
		if err := json.Unmarshal(text, &again); err != nil || again != s {
			t.Fatalf("%s becomes %+v, %v", text, again, err)
		}
	})
}

func FuzzBallot(f *testing.F) {
	b := verifiable.Ballot{Voter: 1, Weight: 2, Choices: []verifiable.Choice{{Value: -1, Times: 1}, {Value: 3, Times: 4}}}
	f.Add(b.Append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if b, err := verifiable.ParseBallot(data); err == nil {
			same(t, data, b.Append(nil), nil)
		}
	})
}

func FuzzBallotProof(f *testing.F) {
	for _, p := range readVectors(f).Polls {
		for _, proof := range p.Proofs {
			data, err := hex.DecodeString(proof)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data, int64(2), int64(p.Ballots), p.BallotRoot[:])
		}
	}
	f.Fuzz(func(_ *testing.T, data []byte, voter, n int64, root []byte) {
		var h tlog.Hash
		copy(h[:], root)
		_, _ = verifiable.CheckBallotProof(data, voter, n, h, verifiable.Sums{})
	})
}

func FuzzBundle(f *testing.F) {
	f.Add(verifiable.AppendBundle(verifiable.AppendBundle(nil, []byte("a")), nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		leaves, err := verifiable.ParseBundle(data)
		if err != nil {
			return
		}
		var again []byte
		for _, leaf := range leaves {
			again = verifiable.AppendBundle(again, leaf)
		}
		same(t, data, again, nil)
	})
}

func FuzzReceipt(f *testing.F) {
	for _, r := range readVectors(f).Receipts {
		f.Add([]byte(r.Text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := verifiable.ParseReceipt(data)
		if err != nil {
			return
		}
		same(t, data, r.Text(), nil)
		key := readKey(t)
		_, _ = verifiable.VerifyReceipt(t.Context(), data, verifiable.ReceiptCheck{Keys: key})
	})
}

func readKey(t *testing.T) verifiable.Keys {
	t.Helper()
	return newPublisher(t).keys()
}

func FuzzProof(f *testing.F) {
	f.Add([]byte("c2sp.org/tlog-proof@v1\nextra YQ==\nindex 0\n\nx"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := verifiable.ParseProof(data); err == nil {
			same(t, data, p.Text(), nil)
		}
	})
}

// A fold takes any leaves.
func FuzzFold(f *testing.F) {
	for _, p := range readVectors(f).Polls {
		var bundle []byte
		for _, leaf := range p.Leaves {
			data, err := hex.DecodeString(leaf)
			if err != nil {
				f.Fatal(err)
			}
			bundle = verifiable.AppendBundle(bundle, data)
		}
		f.Add(bundle)
	}
	f.Fuzz(func(t *testing.T, bundle []byte) {
		leaves, err := verifiable.ParseBundle(bundle)
		if err != nil {
			return
		}
		fold := verifiable.NewFold()
		for _, data := range leaves {
			fold.Apply(data)
		}
		if _, _, err := verifiable.BallotTree(fold.Ballots()).Root(); err != nil {
			t.Fatalf("%d ballots: %v", len(fold.Ballots()), err)
		}
	})
}
