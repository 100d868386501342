package verifiable_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

var update = flag.Bool("update", false, "write the test vectors again")

// vectors is the file that other implementations read. Bytes are hexadecimal.
type vectors struct {
	Names     []nameVector        `json:"names"`
	Entries   []bytesVector       `json:"entries"`
	LogLeaves []bytesVector       `json:"logLeaves"`
	Refused   map[string][]string `json:"refused"` // by kind of encoding
	Roots     []rootVector        `json:"roots"`   // of leaves that are u64 0, 1, …
	Polls     []pollVector        `json:"polls"`
	Key       string              `json:"key"`
	Rotated   string              `json:"rotatedKey"`
	Receipts  []receiptVector     `json:"receipts"`
}

type nameVector struct {
	Name      verifiable.PollName `json:"name"`
	Key       string              `json:"pollKey"`
	Nonce     string              `json:"nonce"`
	NonceHash string              `json:"nonceHash"`
	Path      string              `json:"path"`
}

type bytesVector struct {
	Name string `json:"name"`
	Data string `json:"data"`
}

type rootVector struct {
	Size int64     `json:"size"`
	Root tlog.Hash `json:"root"`
}

type pollVector struct {
	Name       string                   `json:"name"`
	Leaves     []string                 `json:"leaves"`
	Root       tlog.Hash                `json:"root"`
	Sums       verifiable.Sums          `json:"sums"`
	SumsData   string                   `json:"sumsData"`
	Ballots    int                      `json:"ballots"`
	BallotRoot tlog.Hash                `json:"ballotRoot"`
	Proofs     map[string]string        `json:"proofs"` // by voter number
	Findings   []verifiable.FindingKind `json:"findings"`
}

type receiptVector struct {
	Name     string                   `json:"name"`
	Text     string                   `json:"text"`
	Recorded verifiable.Answer        `json:"recorded"` // "" for a text that is no receipt
	Findings []verifiable.FindingKind `json:"findings"`
}

// The committed vectors are those that this implementation gives.
func TestVectors(t *testing.T) {
	const file = "testdata/vectors.json"
	v := vectors{Refused: map[string][]string{}, Key: newPublisher(t).signer.Key().String()}
	v.addNames()
	v.addEntries(t)
	v.addLogLeaves(t)
	v.addRoots()
	v.addPolls(t)
	v.addReceipts(t)
	var got bytes.Buffer
	encoder := json.NewEncoder(&got)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	must(t, encoder.Encode(v))
	if *update {
		must(t, os.WriteFile(file, got.Bytes(), 0o600))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s differs; -update writes it again", file)
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (v *vectors) addNames() {
	for _, name := range []verifiable.PollName{{"sample", "1", "lunch"}, {"sample", "", "global lunch/ü+"}} {
		nonce := nonceOf("alice")
		key, hash := name.Key(), verifiable.HashNonce(name.Key(), nonce)
		v.Names = append(v.Names, nameVector{name, hex.EncodeToString(key[:]), hex.EncodeToString(nonce[:]), hex.EncodeToString(hash[:]), name.ResultPath()})
	}
}

func eachEntry() map[string]verifiable.Entry {
	hash := verifiable.HashNonce(verifiable.PollKey{1}, verifiable.Nonce{2})
	key := verifiable.SaltKey{3}
	c := lunch()
	c.Prompt, c.EndsAt = "<\u2028\"ü\\\n\x01😀>", 1_800_000_000
	decided := c
	decided.TieBreak = new(int64)
	ruled := c
	ruled.Entries, ruled.MinVoters, ruled.KeepDays, ruled.NoReceipts = "live", 1, 365, true
	return map[string]verifiable.Entry{
		"config, with rules": {Kind: verifiable.EntryConfig, Settings: ruled},
		"config, decided":    {Kind: verifiable.EntryConfig, Settings: decided},
		"add":                {Kind: verifiable.EntryAdd, Voter: 7, Value: -128, Times: 30, Config: 1, HasNonce: true, Nonce: hash},
		"set":                {Kind: verifiable.EntrySet, Voter: 7, Value: 128, Times: 1, Config: 1, ByStaff: true},
		"modifier":           {Kind: verifiable.EntryModifier, Voter: 7, Config: 1, Add: -1, ByStaff: true},
		"config":             {Kind: verifiable.EntryConfig, Settings: c},
		"begin":              {Kind: verifiable.EntryBegin, Tree: verifiable.TreeID{4}, Poll: verifiable.PollKey{1}, At: 1_800_000_000_000},
		"reset":              {Kind: verifiable.EntryReset, At: 1},
		"close":              {Kind: verifiable.EntryClose, At: 2},
		"open":               {Kind: verifiable.EntryOpen, At: 3},
		"erasure":            {Kind: verifiable.EntryErasure, At: 4},
		"hide":               {Kind: verifiable.EntryHide, Salt: key.Commitment()},
		"reveal":             {Kind: verifiable.EntryReveal, Salt: key},
	}
}

func (v *vectors) addEntries(t *testing.T) {
	entries := eachEntry()
	for _, name := range sorted(entries) {
		e := entries[name]
		data, err := e.Encode()
		must(t, err)
		v.Entries = append(v.Entries, bytesVector{name, hex.EncodeToString(data)})
		v.refuse(t, "entry", data, func(b []byte) error { _, err := verifiable.ParseEntry(b); return err })
		for _, change := range [][2]string{{"1\",\"noReceipts\":true", "0\",\"noReceipts\":true"}, {"true,\"options", "false,\"options"}, {"\"live\"", "\"close\""}, {"365", "366"}} {
			changed := bytes.Replace(data, []byte(change[0]), []byte(change[1]), 1)
			if _, err := verifiable.ParseEntry(changed); err != nil {
				v.Refused["entry"] = append(v.Refused["entry"], hex.EncodeToString(changed))
			}
		}
		if name == "set" {
			v.Entries = append(v.Entries, bytesVector{"set, hidden at index 9", hex.EncodeToString(verifiable.HideLeaf(verifiable.SaltKey{3}, 9, data))})
		}
	}
}

// refuse keeps what changing the head of an encoding gives, where it has no meaning.
func (v *vectors) refuse(t *testing.T, kind string, data []byte, parse func([]byte) error) {
	t.Helper()
	if parse(append(bytes.Clone(data), 0)) == nil || parse(data[:len(data)-1]) == nil {
		t.Errorf("%s %x is accepted longer or shorter", kind, data)
	}
	for i := range 24 {
		changed := bytes.Clone(data)
		changed[i] ^= 0x80
		if parse(changed) != nil {
			v.Refused[kind] = append(v.Refused[kind], hex.EncodeToString(changed))
		}
	}
}

func (v *vectors) addLogLeaves(t *testing.T) {
	zero, sums := verifiable.Sums{}, verifiable.Sums{Count: verifiable.NewInt128(3), Sum: verifiable.NewInt128(-256), Squares: verifiable.NewInt128(1 << 15)}
	sums.Slots[0], sums.Slots[31] = verifiable.NewInt128(1), verifiable.Int128{}
	poll := verifiable.LogLeaf{
		Kind: verifiable.LogPoll, At: 9, Poll: verifiable.PollKey{1}, Tree: verifiable.TreeID{4}, Status: verifiable.TreeOpen,
		Entries: tlog.Tree{N: 5, Hash: tlog.Hash{6}}, Prev: verifiable.NoLeaf,
	}
	final, noVotes := poll, poll
	final.Status, final.Final, final.Sums, final.Ballots, final.Prev, final.Erasures = verifiable.TreeClosed, true, &sums, &tlog.Tree{N: 3, Hash: tlog.Hash{7}}, 4, 2
	noVotes.Status, noVotes.Sums = verifiable.TreeReset, &zero
	for _, c := range []struct {
		name string
		leaf verifiable.LogLeaf
	}{
		{"begin", verifiable.LogLeaf{Kind: verifiable.LogBegin, Origin: origin}},
		{"begin after a restore", verifiable.LogLeaf{Kind: verifiable.LogBegin, At: 8, Origin: origin, OldOrigin: "example.com/acclaim/ffffffff", Old: tlog.Tree{N: 9, Hash: tlog.Hash{8}}}},
		{"key", verifiable.LogLeaf{Kind: verifiable.LogKey, At: 8, Key: v.Key}},
		{"poll, first and hidden", poll},
		{"poll, final", final},
		{"poll, reset", noVotes},
	} {
		data, err := c.leaf.Encode()
		must(t, err)
		v.LogLeaves = append(v.LogLeaves, bytesVector{c.name, hex.EncodeToString(data)})
		v.refuse(t, "logLeaf", data, func(b []byte) error { _, err := verifiable.ParseLogLeaf(b); return err })
	}
}

func (v *vectors) addRoots() {
	var f verifiable.Frontier
	for _, size := range []int64{0, 1, 2, 255, 256, 257, 65537} {
		for f.Size < size {
			f.Append(binary.BigEndian.AppendUint64(nil, uint64(f.Size)))
		}
		v.Roots = append(v.Roots, rootVector{size, f.Tree().Hash})
	}
}

func (v *vectors) addPolls(t *testing.T) {
	multi := lunch()
	multi.TotalVotesPerUser, multi.DistinctOptionsPerUser, multi.VotesPerOption, multi.Version = 4, 2, 3, 2
	key, other := verifiable.SaltKey{3}, verifiable.SaltKey{5}
	add := func(q *poll, value int16, times uint16) { // Alice's
		e := q.entry("alice", value)
		e.Kind, e.Times = verifiable.EntryAdd, times
		e.HasNonce, e.Nonce = false, verifiable.NonceHash{}
		q.add(e)
	}
	for _, c := range []struct {
		name string
		tell func(q *poll)
	}{
		{"no ballots", func(*poll) {}},
		{"one ballot", func(q *poll) { q.vote("alice", 1) }},
		{"new and returning voters", func(q *poll) {
			q.vote("alice", 1)
			q.vote("bob", 2)
			e := q.entry("alice", 0)
			e.Nonce[0] ^= 1 // another vote of hers
			q.add(e)
		}},
		{"set after add", func(q *poll) {
			q.configure(multi)
			add(q, 1, 2)
			add(q, 0, 1)
			q.configure(lunch())
			q.vote("alice", 2)
		}},
		{"weight 0", func(q *poll) {
			q.weigh("alice", -9)
			q.vote("alice", 1)
			q.vote("bob", 1)
		}},
		{"negative sum", func(q *poll) {
			q.vote("alice", -128)
			q.vote("bob", 1)
		}},
		{"sum of 2^70", func(q *poll) {
			q.vote("alice", 128)
			q.weigh("alice", 1<<62)
			q.weigh("alice", 1<<62-1)
		}},
		{"hide, reveal, reopen", func(q *poll) {
			q.hide(key)
			q.vote("alice", 1)
			q.close()
			q.reveal(key)
			q.open()
			q.hide(other)
			q.vote("bob", 2)
			q.close()
			q.reveal(other)
		}},
		{"reset", func(q *poll) {
			q.vote("alice", 1)
			q.reset()
			q.vote("alice", 2)
		}},
		{"five ballots", func(q *poll) {
			for i := range int16(5) {
				q.vote(fmt.Sprint("voter ", i), i)
			}
		}},
		{"vote and weight after the close", func(q *poll) {
			q.close()
			q.vote("alice", 1)
			q.weigh("bob", 1)
		}},
		{"a tie that staff decided", func(q *poll) {
			q.vote("alice", 1)
			q.vote("bob", 2)
			q.close()
			decided := lunch()
			decided.TieBreak, decided.Version = new(int64), 3
			*decided.TieBreak = 2
			q.configure(decided)
		}},
		{"unknown voter", func(q *poll) {
			e := q.entry("alice", 1)
			e.Voter = 1
			q.add(e)
		}},
		{"over the limits", func(q *poll) {
			q.configure(multi)
			add(q, 1, 3)
			add(q, 1, 1)
			add(q, 0, 2)
			add(q, 0, 1)
			add(q, 2, 1)
		}},
		{"another key", func(q *poll) {
			q.hide(key)
			q.vote("alice", 1)
			q.reveal(other)
		}},
		{"the question changes", func(q *poll) {
			q.vote("alice", 1)
			other := lunch()
			other.Options = []string{"Cake", "Salad", "Soup"}
			q.configure(other)
		}},
	} {
		q := newPublisher(t).begin("lunch", lunch())
		c.tell(q)
		v.addPoll(t, c.name, q)
	}
}

func (v *vectors) addPoll(t *testing.T, name string, q *poll) {
	t.Helper()
	f := q.fold()
	tree := verifiable.BallotTree(f.Ballots())
	root, sums, err := tree.Root()
	must(t, err)
	p := pollVector{Name: name, Root: treeOf(q.leaves).Hash, Sums: sums, SumsData: hex.EncodeToString(sums.Append(nil)), Ballots: len(tree), BallotRoot: root, Proofs: map[string]string{}, Findings: kinds(f.Findings)}
	for _, data := range q.leaves {
		p.Leaves = append(p.Leaves, hex.EncodeToString(data))
	}
	for _, b := range tree {
		proof, err := tree.Prove(b.Voter)
		must(t, err)
		got, err := verifiable.CheckBallotProof(proof, b.Voter, int64(len(tree)), root, sums)
		must(t, err)
		if !bytes.Equal(got.Append(nil), b.Append(nil)) {
			t.Errorf("%s: the proof of voter %d shows %v", name, b.Voter, got)
		}
		p.Proofs[fmt.Sprint(b.Voter)] = hex.EncodeToString(proof)
	}
	v.Polls = append(v.Polls, p)
}

func (v *vectors) addReceipts(t *testing.T) {
	s := tell(t)
	v.Rotated = rotated(t).Key().String()
	parse := func() *verifiable.Receipt {
		r, err := verifiable.ParseReceipt(s.receipt)
		must(t, err)
		return r
	}
	v.addReceipt(t, s, "honest", s.receipt)
	for _, c := range []struct {
		name   string
		mutate func(r *verifiable.Receipt)
	}{
		{"without nonce", func(r *verifiable.Receipt) { r.Nonce = nil }},
		{"another nonce", func(r *verifiable.Receipt) { r.Nonce[0] ^= 1 }},
		{"another poll's name", func(r *verifiable.Receipt) { r.Name.Poll = "dinner" }},
		{"another value", func(r *verifiable.Receipt) { r.Vote.Extra[12+1] ^= 1 }},
		{"another index of the vote", func(r *verifiable.Receipt) { r.Vote.Index++ }},
		{"another path of the vote", func(r *verifiable.Receipt) { r.Vote.Path[0][0] ^= 1 }},
		{"a path too short", func(r *verifiable.Receipt) { r.Vote.Path = r.Vote.Path[1:] }},
		{"an entry that is no configuration", func(r *verifiable.Receipt) { r.Config = r.Vote }},
		{"a vote that is none", func(r *verifiable.Receipt) { r.Vote = r.Config }},
		{"another leaf of the log", func(r *verifiable.Receipt) { r.Poll = s.prove(s.log, 0, origin) }},
		{"another tree than the log's", func(r *verifiable.Receipt) {
			r.Vote = s.prove(s.poll.leaves, s.alice, verifiable.TreeOrigin(origin, s.poll.id))
		}},
		{"a checkpoint of another origin", func(r *verifiable.Receipt) {
			r.Vote = s.prove(s.poll.leaves[:4], s.alice, origin)
		}},
		{"a checkpoint that another key signed", func(r *verifiable.Receipt) {
			other := *s.publisher
			other.signer = rotated(t)
			r.Poll = other.prove(s.log, s.poll.prev, origin)
		}},
	} {
		r := parse()
		c.mutate(r)
		v.addReceipt(t, s, c.name, r.Text())
	}
	for _, c := range []struct{ name, old, replacement string }{
		{"another version", "receipt/v1", "receipt/v2"},
		{"windows line ends", "\n", "\r\n"},
		{"a leading zero", "index 2", "index 02"},
		{"a missing part", "--- config", "--- vote"},
		{"a line at the end of the name", "\nnonce", "\n\nnonce"},
	} {
		v.addReceipt(t, s, c.name, []byte(strings.Replace(string(s.receipt), c.old, c.replacement, 1)))
	}
}

func (v *vectors) addReceipt(t *testing.T, s *story, name string, text []byte) {
	t.Helper()
	r := receiptVector{Name: name, Text: string(text)}
	report, err := verifiable.VerifyReceipt(t.Context(), text, verifiable.ReceiptCheck{Keys: s.keys()})
	if err == nil {
		r.Recorded, r.Findings = report.Recorded.Answer, kinds(report.Findings)
	}
	if name != "honest" && r.Recorded == verifiable.Yes {
		t.Errorf("%s is accepted", name)
	}
	v.Receipts = append(v.Receipts, r)
}
