package verifiable_test

import (
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// publisher is a model of a server that writes the static files of its log and its polls. What it
// does is honest; tests make it lie.
type publisher struct {
	t      testing.TB
	signer *verifiable.Signer
	at     int64
	log    [][]byte
	polls  []*poll
	drawn  byte
}

// poll is a poll's tree.
type poll struct {
	p       *publisher
	name    verifiable.PollName
	id      verifiable.TreeID
	leaves  [][]byte
	voters  map[string]int64
	hidden  *verifiable.SaltKey
	status  verifiable.TreeStatus
	final   bool
	ballots bool
	private bool   // entries are not public
	shown   string // when they are public, as result.json says
	prev    int64
	config  int64
	newest  verifiable.LogLeaf
	now     *verifiable.NowShown
}

func newPublisher(t testing.TB) *publisher {
	t.Helper()
	seed := sha256.Sum256([]byte("a log of a test"))
	signer, err := verifiable.NewSigner(origin, ed25519.NewKeyFromSeed(seed[:]))
	must(t, err)
	p := &publisher{t: t, signer: signer, at: 1_800_000_000_000}
	p.append(&verifiable.LogLeaf{Kind: verifiable.LogBegin, Origin: origin})
	return p
}

func (p *publisher) keys() verifiable.Keys { return verifiable.Keys{p.signer.Key()} }

func (p *publisher) append(l *verifiable.LogLeaf) {
	p.t.Helper()
	p.at += 1000
	l.At = p.at
	data, err := l.Encode()
	must(p.t, err)
	p.log = append(p.log, data)
}

func (p *publisher) begin(name string, c verifiable.Config) *poll {
	p.t.Helper()
	p.drawn++
	q := &poll{
		p: p, name: verifiable.PollName{Client: "sample", Channel: "1", Poll: name}, id: verifiable.TreeID{15: p.drawn},
		voters: map[string]int64{}, status: verifiable.TreeOpen, prev: verifiable.NoLeaf,
	}
	p.polls = append(p.polls, q)
	q.add(verifiable.Entry{Kind: verifiable.EntryBegin, Tree: q.id, Poll: q.name.Key(), At: p.at})
	q.configure(c)
	return q
}

// add appends an entry and returns its index.
func (q *poll) add(e verifiable.Entry) int64 {
	q.p.t.Helper()
	index := int64(len(q.leaves))
	data, err := e.Encode()
	must(q.p.t, err)
	if q.hidden != nil && e.Kind != verifiable.EntryReveal && e.Kind != verifiable.EntryReset {
		data = verifiable.HideLeaf(*q.hidden, index, data)
	}
	q.leaves = append(q.leaves, data)
	return index
}

func (q *poll) configure(c verifiable.Config) {
	q.p.t.Helper()
	q.config = q.add(verifiable.Entry{Kind: verifiable.EntryConfig, Settings: c})
}

// voter returns a voter's number, that of the next entry for a new one.
func (q *poll) voter(id string) int64 {
	if _, known := q.voters[id]; !known {
		q.voters[id] = int64(len(q.leaves))
	}
	return q.voters[id]
}

func nonceOf(id string) verifiable.Nonce {
	sum := sha256.Sum256([]byte(id))
	return verifiable.Nonce(sum[:16])
}

func (q *poll) entry(id string, value int16) verifiable.Entry {
	return verifiable.Entry{
		Kind: verifiable.EntrySet, Voter: q.voter(id), Value: value, Times: 1, Config: q.config,
		HasNonce: true, Nonce: verifiable.HashNonce(q.name.Key(), nonceOf(id)),
	}
}

// vote casts a vote and returns its index.
func (q *poll) vote(id string, value int16) int64 {
	q.p.t.Helper()
	return q.add(q.entry(id, value))
}

func (q *poll) weigh(id string, add int64) {
	q.p.t.Helper()
	q.add(verifiable.Entry{Kind: verifiable.EntryModifier, Voter: q.voter(id), Config: q.config, Add: add, ByStaff: true})
}

func (q *poll) hide(key verifiable.SaltKey) {
	q.p.t.Helper()
	q.add(verifiable.Entry{Kind: verifiable.EntryHide, Salt: key.Commitment()})
	q.hidden = &key
}

func (q *poll) reveal(key verifiable.SaltKey) {
	q.p.t.Helper()
	q.add(verifiable.Entry{Kind: verifiable.EntryReveal, Salt: key})
	q.hidden = nil
}

func (q *poll) reset() {
	q.p.t.Helper()
	q.add(verifiable.Entry{Kind: verifiable.EntryReset, At: q.p.at})
	clear(q.voters)
	q.hidden, q.status, q.final, q.ballots = nil, verifiable.TreeReset, false, false
}

func (q *poll) close() {
	q.p.t.Helper()
	q.add(verifiable.Entry{Kind: verifiable.EntryClose, At: q.p.at})
	q.status, q.final, q.ballots = verifiable.TreeClosed, true, true
}

func (q *poll) open() {
	q.p.t.Helper()
	q.add(verifiable.Entry{Kind: verifiable.EntryOpen, At: q.p.at})
	q.status, q.final, q.ballots = verifiable.TreeOpen, false, false
}

func (q *poll) fold() *verifiable.Fold {
	f := verifiable.NewFold()
	for _, data := range q.leaves {
		f.Apply(data)
	}
	return f
}

func treeOf(leaves [][]byte) tlog.Tree {
	var f verifiable.Frontier
	for _, data := range leaves {
		f.Append(data)
	}
	return f.Tree()
}

// sign appends a leaf of the poll to the log.
func (q *poll) sign() {
	q.p.t.Helper()
	f := q.fold()
	tree := verifiable.BallotTree(f.Ballots())
	root, sums, err := tree.Root()
	must(q.p.t, err)
	l := verifiable.LogLeaf{
		Kind: verifiable.LogPoll, Poll: q.name.Key(), Tree: q.id, Status: q.status, Entries: treeOf(q.leaves),
		Prev: q.prev, Erasures: f.Erasures, Final: q.final && q.hidden == nil,
	}
	if q.hidden == nil {
		l.Sums = &sums
		if q.ballots {
			l.Ballots = &tlog.Tree{N: int64(len(tree)), Hash: root}
		}
	}
	q.signLeaf(l)
}

func (q *poll) signLeaf(l verifiable.LogLeaf) {
	q.p.t.Helper()
	q.prev = int64(len(q.p.log))
	q.p.append(&l)
	q.newest = l
}

// hashes returns the stored hashes of a tree.
func hashes(t testing.TB, leaves [][]byte) tlog.HashReader {
	t.Helper()
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		list := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			list[i] = stored[index]
		}
		return list, nil
	})
	for i, data := range leaves {
		more, err := tlog.StoredHashes(int64(i), data, reader)
		must(t, err)
		stored = append(stored, more...)
	}
	return reader
}

func (p *publisher) prove(leaves [][]byte, index int64, name string) verifiable.Proof {
	p.t.Helper()
	tree := treeOf(leaves)
	path, err := tlog.ProveRecord(tree.N, index, hashes(p.t, leaves))
	must(p.t, err)
	checkpoint, err := p.signer.Checkpoint(name, tree)
	must(p.t, err)
	return verifiable.Proof{Extra: leaves[index], Index: index, Path: path, Checkpoint: checkpoint}
}

// receipt returns the receipt of a vote from the newest leaf of the poll.
func (q *poll) receipt(id string, index int64) []byte {
	q.p.t.Helper()
	nonce := nonceOf(id)
	leaves, name := q.leaves[:q.newest.Entries.N], verifiable.TreeOrigin(origin, q.id)
	r := verifiable.Receipt{
		Name: q.name, Nonce: &nonce,
		Vote: q.p.prove(leaves, index, name), Config: q.p.prove(leaves, q.config, name), Poll: q.p.prove(q.p.log, q.prev, origin),
	}
	return r.Text()
}

// files returns the static files of the site.
func (p *publisher) files() fstest.MapFS {
	p.t.Helper()
	files := fstest.MapFS{}
	p.writeTree(files, "log/", origin, p.log)
	for _, q := range p.polls {
		if q.prev != verifiable.NoLeaf {
			q.write(files)
		}
	}
	return files
}

func (p *publisher) writeTree(files fstest.MapFS, folder, name string, leaves [][]byte) {
	p.t.Helper()
	reader := hashes(p.t, leaves)
	for _, tile := range tlog.NewTiles(8, 0, int64(len(leaves))) {
		data, err := tlog.ReadTileData(tile, reader)
		must(p.t, err)
		files[folder+verifiable.TilePath(tile)] = &fstest.MapFile{Data: data}
		if tile.L > 0 {
			continue
		}
		var bundle []byte
		for _, leaf := range leaves[tile.N*256:][:tile.W] {
			bundle = verifiable.AppendBundle(bundle, leaf)
		}
		tile.L = -1
		files[folder+verifiable.TilePath(tile)] = &fstest.MapFile{Data: bundle}
	}
	checkpoint, err := p.signer.Checkpoint(name, treeOf(leaves))
	must(p.t, err)
	files[folder+"checkpoint"] = &fstest.MapFile{Data: checkpoint}
}

func (q *poll) write(files fstest.MapFS) {
	t := q.p.t
	t.Helper()
	leaves := q.leaves[:q.newest.Entries.N]
	folder := fmt.Sprintf("log/t/%s/", q.id)
	q.p.writeTree(files, folder, verifiable.TreeOrigin(origin, q.id), leaves)
	if q.private || q.hidden != nil {
		maps.DeleteFunc(files, func(path string, _ *fstest.MapFile) bool {
			return len(path) > len(folder+"tile/entries/") && path[:len(folder+"tile/entries/")] == folder+"tile/entries/"
		})
	}
	result := verifiable.Result{Origin: origin, Tree: q.id.String(), Name: q.name, Now: q.now, Entries: cmp.Or(q.shown, "live")}
	leaf, err := q.newest.Encode()
	must(t, err)
	proof := q.p.prove(q.p.log, q.prev, origin)
	proof.Extra = nil
	result.Proved = &verifiable.ProvedShown{Leaf: leaf, Proof: string(proof.Text()), Sums: q.newest.Sums}
	if b := q.newest.Ballots; b != nil {
		result.Ballots = &b.N
		tree := verifiable.BallotTree(q.fold().Ballots())
		for _, ballot := range tree {
			proof, err := tree.Prove(ballot.Voter)
			must(t, err)
			files[verifiable.BallotPath(q.id, q.newest.Entries.N, ballot.Voter)] = &fstest.MapFile{Data: proof}
		}
	}
	text, err := json.Marshal(result)
	must(t, err)
	files[q.name.ResultPath()] = &fstest.MapFile{Data: text}
}

// remove takes an entry out of the tree.
func (q *poll) remove(index int64) { q.leaves = slices.Delete(q.leaves, int(index), int(index)+1) }

func (p *publisher) clone() *publisher {
	c := *p
	c.log = slices.Clone(p.log)
	c.polls = nil
	for _, q := range p.polls {
		other := *q
		other.p, other.leaves, other.voters = &c, slices.Clone(q.leaves), maps.Clone(q.voters)
		c.polls = append(c.polls, &other)
	}
	return &c
}
