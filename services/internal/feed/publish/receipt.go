package publish

import (
	"context"
	"errors"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/resultlog"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Refusals of receipts.
var (
	errNoList      = fault.New(fault.NotFound, "The poll does not list its votes")
	errNoReceipts  = fault.New(fault.NotFound, "The poll gives no receipts")
	errNoVote      = fault.New(fault.NotFound, "The caller has no vote in the list")
	errNotRecorded = fault.New(fault.NotFound, "The vote is not in the signed list yet")
)

// MakeReceipt returns the receipt of the voter's latest vote, without its nonce. The error is
// fault.NotFound, too, for the second or two until the vote is signed.
func (p *Publisher) MakeReceipt(ctx context.Context, poll voting.Poll, voter voting.Voter) ([]byte, error) {
	list, err := p.Polls.ReadList(ctx, poll, voter)
	switch {
	case err != nil:
		return nil, err
	case list == nil:
		return nil, errNoList
	case list.Rules().NoReceipts:
		return nil, errNoReceipts
	case list.Listed == nil:
		return nil, errNoVote
	}
	record, _, err := p.Log.Find(ctx, list.Tree)
	if fault.KindOf(err) == fault.NotFound || err == nil && list.Listed.Index >= record.Leaf().Entries.N {
		p.queue.add(poll)
		return nil, errNotRecorded
	}
	if err != nil {
		return nil, err
	}
	signed, err := p.signLog(ctx, record.Index+1)
	if err != nil {
		return nil, err
	}
	r := verifiable.Receipt{Name: poll.PublicName()}
	if r.Poll, err = p.proveRecord(ctx, signed, record); err == nil {
		err = p.proveVote(ctx, signed, list, record.Leaf(), &r)
	}
	return r.Text(), err
}

// proveRecord proves that the log has the newest leaf of a list.
func (p *Publisher) proveRecord(ctx context.Context, signed *signedLog, record *resultlog.Record) (verifiable.Proof, error) {
	tiles := tileSource(func(tile tlog.Tile) ([]byte, error) { return p.readLogTile(ctx, signed.origin, tile) })
	path, err := tlog.ProveRecord(signed.tree.N, record.Index, tlog.TileHashReader(signed.tree, tiles))
	return verifiable.Proof{Extra: record.Data, Index: record.Index, Path: path, Checkpoint: p.newestCheckpoint(signed)}, err
}

// proveVote adds the proofs of a vote, and of the configuration that it met, to a receipt.
func (p *Publisher) proveVote(ctx context.Context, signed *signedLog, list *voting.List, leaf verifiable.LogLeaf, r *verifiable.Receipt) error {
	checkpoint, err := signed.checkpointOf(leaf)
	if err != nil {
		return err
	}
	hashes := tlog.TileHashReader(leaf.Entries, p.treeTiles(ctx, signed.origin, list))
	prove := func(index int64, proof *verifiable.Proof) error {
		proof.Index, proof.Checkpoint = index, checkpoint
		err := p.Polls.Leaves(ctx, list, index, index+1, func(_ int64, data []byte) { proof.Extra = append([]byte{}, data...) })
		if err == nil {
			proof.Path, err = tlog.ProveRecord(leaf.Entries.N, index, hashes)
		}
		return err
	}
	if err := prove(list.Listed.Index, &r.Vote); err != nil {
		return err
	}
	entry, err := verifiable.EntryOfLeaf(r.Vote.Extra)
	if err != nil {
		return fault.Wrap(fault.Storage, err, "the log is damaged")
	}
	return prove(entry.Config, &r.Config)
}

// firstKept returns the index of the first entry of a final list that the log still has.
func (p *Publisher) firstKept(ctx context.Context, list *voting.List) (int64, error) {
	if p.Clock.Now().Unix() < list.KeepUntil() {
		return 0, nil // all of them
	}
	if err := p.reads.Acquire(ctx, 1); err != nil {
		return 0, fault.Wrap(fault.Unavailable, err, "too many files are read")
	}
	defer p.reads.Release(1)
	err := p.Polls.Leaves(ctx, list, 0, 1, func(int64, []byte) {})
	if pruned, ok := errors.AsType[*voting.Pruned](err); ok {
		return pruned.Minimum, nil
	}
	return 0, err
}

// Proved is the signed part of a poll's public result.
type Proved struct {
	Origin  string                  `json:"origin"`
	Tree    string                  `json:"tree"`
	Proved  *verifiable.ProvedShown `json:"proved"`
	Ballots *int64                  `json:"ballots"`
	Entries string                  `json:"entries"`
	Minimum int64                   `json:"minimum"`
	// KeepUntil is the time in Unix seconds until which the entries stay at least; 0 while the poll
	// has no final result.
	KeepUntil int64 `json:"keepUntil"`
	// Size and At are those of the newest entry, signed or not.
	Size int64 `json:"-"`
	At   int64 `json:"-"`
}

// Prove returns the signed part of a poll's public result, nil while nothing of the poll is signed.
func (p *Publisher) Prove(ctx context.Context, poll voting.Poll) (*Proved, error) {
	list, err := p.Polls.ReadList(ctx, poll, voting.Voter{})
	if err != nil || list == nil {
		return nil, err
	}
	record, _, err := p.Log.Find(ctx, list.Tree)
	if fault.KindOf(err) == fault.NotFound {
		p.queue.add(poll)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	signed, err := p.signLog(ctx, record.Index+1)
	if err != nil {
		return nil, err
	}
	proof, err := p.proveRecord(ctx, signed, record)
	if err != nil {
		return nil, err
	}
	leaf := record.Leaf()
	shown := &Proved{
		Origin: signed.origin, Tree: leaf.Tree.String(), Entries: list.Rules().Entries, Size: list.Entries.N, At: list.At,
		Proved: &verifiable.ProvedShown{Leaf: record.Data, Proof: string(proof.Text()), Sums: leaf.Sums},
	}
	if list.Final && list.IsSmall() {
		shown.Entries = contract.EntriesNever
	}
	if list.Final {
		shown.KeepUntil = list.KeepUntil()
		if shown.Minimum, err = p.firstKept(ctx, list); err != nil {
			return nil, err
		}
	}
	if leaf.Ballots != nil {
		shown.Ballots = &leaf.Ballots.N
	}
	return shown, nil
}
