package verifiable_test

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func lunch() verifiable.Config {
	return verifiable.Config{
		DistinctOptionsPerUser: 1, TotalVotesPerUser: 1, VotesPerOption: 1, ResultsVisibility: "always",
		Prompt: "What is for lunch?", Options: []string{"Soup", "Salad", "Cake"}, Version: 1,
	}
}

// Configurations have one form.
func TestConfigForms(t *testing.T) {
	c := lunch()
	c.Prompt = "\u2028<ü>\u007f\x1f\"\\/"
	text, err := c.Encode()
	must(t, err)
	want := `{"disabled":false,"distinctOptionsPerUser":"1","endsAt":"0","loggedInOnly":false,"options":["Soup","Salad","Cake"],` +
		`"prompt":"` + "\u2028<ü>\u007f" + `\u001f\"\\/","resultsVisibility":"always","showCount":false,"startsAt":"0",` +
		`"totalVotesPerUser":"1","userIDVoting":false,"version":"1","votesPerOption":"1"}`
	if string(text) != want {
		t.Errorf("the configuration is\n%s, want\n%s", text, want)
	}
	for _, change := range [][2]string{
		{`{"d`, `{ "d`}, {`"endsAt":"0",`, ``}, {`"endsAt":"0"`, `"endsAt":0`}, {`"0"`, `"00"`}, {`"1"}`, `"1","x":1}`}, {`<`, `\u003c`},
		{`always`, `staff`}, {`["Soup","Salad","Cake"]`, `null`}, {`"votesPerOption":"1"`, `"votesPerOption":"0"`}, {`"1"}`, `"1"} `},
		{`"disabled":false`, `"disabled":false,"disabled":false`}, {"ü", "\xff"}, {`"endsAt":"0","loggedInOnly":false`, `"loggedInOnly":false,"endsAt":"0"`},
	} {
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if _, err := verifiable.ParseConfig([]byte(changed)); err == nil || changed == string(text) {
			t.Errorf("%s is accepted", changed)
		}
	}
	c.Entries, c.KeepDays, c.MinVoters, c.NoReceipts = "live", 7, 9, true
	ruled, err := c.Encode()
	must(t, err)
	if parsed, err := verifiable.ParseConfig(ruled); err != nil || parsed.Entries != "live" || parsed.KeepDays != 7 || parsed.MinVoters != 9 || !parsed.NoReceipts {
		t.Errorf("the configuration %s is read as %+v, %v", ruled, parsed, err)
	}
	for _, change := range [][2]string{
		{`"entries":"live"`, `"entries":"close"`}, {`"entries":"live"`, `"entries":""`}, {`"keepDays":"7"`, `"keepDays":"0"`}, {`"keepDays":"7"`, `"keepDays":"366"`},
		{`"minVoters":"9"`, `"minVoters":"0"`}, {`"minVoters":"9"`, `"minVoters":"-1"`}, {`"minVoters":"9"`, `"minVoters":"1000001"`}, {`"noReceipts":true`, `"noReceipts":false`},
	} {
		changed := strings.Replace(string(ruled), change[0], change[1], 1)
		if _, err := verifiable.ParseConfig([]byte(changed)); err == nil || changed == string(ruled) {
			t.Errorf("%s is accepted", changed)
		}
	}
	c.Prompt = "\xff"
	if _, err := c.Encode(); err == nil {
		t.Error("text that is not UTF-8 is accepted")
	}
}

// Entries refuse what their kind does not use.
func TestEntryFields(t *testing.T) {
	for name, change := range map[string]func(e *verifiable.Entry){
		"close by staff":     func(e *verifiable.Entry) { e.Kind, e.ByStaff = verifiable.EntryClose, true },
		"close with voter":   func(e *verifiable.Entry) { e.Kind, e.Voter = verifiable.EntryClose, 1 },
		"modifier, value":    func(e *verifiable.Entry) { e.Kind, e.Value = verifiable.EntryModifier, 1 },
		"modifier, nonce":    func(e *verifiable.Entry) { e.Kind, e.HasNonce = verifiable.EntryModifier, true },
		"value too large":    func(e *verifiable.Entry) { e.Kind, e.Value, e.Times = verifiable.EntrySet, 129, 1 },
		"value too small":    func(e *verifiable.Entry) { e.Kind, e.Value, e.Times = verifiable.EntrySet, -129, 1 },
		"no times":           func(e *verifiable.Entry) { e.Kind = verifiable.EntrySet },
		"too many times":     func(e *verifiable.Entry) { e.Kind, e.Times = verifiable.EntrySet, 31 },
		"nonce without flag": func(e *verifiable.Entry) { e.Kind, e.Times, e.Nonce[3] = verifiable.EntrySet, 1, 1 },
		"negative voter":     func(e *verifiable.Entry) { e.Kind, e.Times, e.Voter = verifiable.EntrySet, 1, -1 },
		"negative time":      func(e *verifiable.Entry) { e.Kind, e.At = verifiable.EntryClose, -1 },
		"kind 0":             func(*verifiable.Entry) {},
		"kind 12":            func(e *verifiable.Entry) { e.Kind = 12 },
	} {
		var e verifiable.Entry
		change(&e)
		if _, err := e.Encode(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// Sums are refused beyond each of their bounds, as package big computes these.
func TestSumBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	number := func() *big.Int {
		n := new(big.Int).Lsh(big.NewInt(random.Int64N(64)-8), uint(random.IntN(124)))
		return n.Add(n, big.NewInt(random.Int64N(3)-1))
	}
	accepted := 0
	for range 20_000 {
		count := number()
		sum := new(big.Int).Add(new(big.Int).Lsh(count, 7), big.NewInt(random.Int64N(3)-1))
		squares := new(big.Int).Add(new(big.Int).Lsh(count, 14), big.NewInt(random.Int64N(3)-1))
		slot := new(big.Int).Add(count, big.NewInt(random.Int64N(3)-1))
		for _, n := range []*big.Int{sum, squares, slot} {
			if random.IntN(2) == 0 {
				n.Rsh(n, uint(random.IntN(20)))
			}
		}
		if random.IntN(2) == 0 {
			sum.Neg(sum)
		}
		limit := new(big.Int).Lsh(big.NewInt(1), 126)
		fits := count.Sign() >= 0 && squares.Sign() >= 0 && slot.Sign() >= 0 && slot.Cmp(count) <= 0 &&
			new(big.Int).Abs(sum).Cmp(new(big.Int).Lsh(count, 7)) <= 0 && squares.Cmp(new(big.Int).Lsh(count, 14)) <= 0
		for _, n := range []*big.Int{count, sum, squares, slot} {
			fits = fits && new(big.Int).Abs(n).Cmp(limit) < 0
		}
		slots := map[string]string{}
		if slot.Sign() != 0 {
			slots["31"] = slot.String()
		}
		text, err := json.Marshal(map[string]any{"count": count.String(), "sum": sum.String(), "squares": squares.String(), "slots": slots})
		must(t, err)
		var s verifiable.Sums
		if err = json.Unmarshal(text, &s); (err == nil) != fits {
			t.Fatalf("%s: %v, want accepted %v", text, err, fits)
		}
		if !fits {
			continue
		}
		accepted++
		again, err := verifiable.ParseSums(s.Append(nil))
		if must(t, err); again != s || again.Sum.String() != sum.String() {
			t.Fatalf("%s becomes %+v", text, again)
		}
	}
	if accepted < 1000 {
		t.Errorf("only %d sums are within the bounds", accepted)
	}
}

func TestNumbers(t *testing.T) {
	for _, text := range []string{"0", "-1", "9223372036854775807", "-9223372036854775808", "18446744073709551616", "85070591730234615865843651857942052863", "-85070591730234615865843651857942052863"} {
		var n verifiable.Int128
		if err := n.UnmarshalText([]byte(text)); err != nil || n.String() != text {
			t.Errorf("%s is %s, %v", text, n, err)
		}
	}
	for _, text := range []string{"", "+1", "-0", "01", "1.0", "1e3", "0x1", "85070591730234615865843651857942052864"} {
		var n verifiable.Int128
		if n.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	if verifiable.NewInt128(math.MinInt64).String() != "-9223372036854775808" {
		t.Error("the smallest int64 differs")
	}
}

// A proof of a ballot fits one voter, one root and one tally only.
func TestBallotProofs(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 5, 8, 13} {
		var tree verifiable.BallotTree
		for i := range n {
			tree = append(tree, verifiable.Ballot{Voter: int64(3 * i), Weight: uint64(i), Choices: []verifiable.Choice{{Value: int16(i - 9), Times: 2}}})
		}
		root, sums, err := tree.Root()
		must(t, err)
		for _, b := range tree {
			proof, err := tree.Prove(b.Voter)
			must(t, err)
			check := func(proof []byte, voter, n int64, root tlog.Hash, sums verifiable.Sums) bool {
				_, err := verifiable.CheckBallotProof(proof, voter, n, root, sums)
				return err == nil
			}
			size := int64(n)
			if !check(proof, b.Voter, size, root, sums) {
				t.Fatalf("voter %d of %d is refused", b.Voter, n)
			}
			other := sums
			other.Sum = verifiable.NewInt128(1 << 20)
			if check(proof, b.Voter+1, size, root, sums) || check(proof, b.Voter, size+1, root, sums) || check(proof, b.Voter, size, tlog.Hash{}, sums) || check(proof, b.Voter, size, root, other) || check(append(proof, 0), b.Voter, size, root, sums) {
				t.Errorf("voter %d of %d: a wrong proof is accepted", b.Voter, n)
			}
			for i := range proof {
				proof[i] ^= 1
				if check(proof, b.Voter, size, root, sums) {
					t.Fatalf("voter %d of %d: byte %d may change", b.Voter, n, i)
				}
				proof[i] ^= 1
			}
		}
		if _, err := tree.Prove(1); err == nil {
			t.Error("a voter without a ballot has a proof")
		}
	}
}

// Two ballots of one voter number have no proof.
func TestBallotClash(t *testing.T) {
	one := verifiable.Ballot{Voter: 5, Weight: 1, Choices: []verifiable.Choice{{Value: 1, Times: 1}}}
	tree := verifiable.BallotTree{one, one}
	root, sums, err := tree.Root()
	must(t, err)
	proof, err := tree.Prove(5)
	must(t, err)
	if _, err := verifiable.CheckBallotProof(proof, 5, 2, root, sums); err == nil {
		t.Error("two ballots have one voter number")
	}
}
