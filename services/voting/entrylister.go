package voting

import (
	"fmt"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// entryLister makes the leaves of a list from stored entries. It may begin at any place of a log.
type entryLister struct {
	next   int64               // index of the next public entry
	config int64               // index of the newest configuration
	key    *verifiable.SaltKey // of the hidden phase, nil outside of one
	buf    []byte              // of the last leaf
	vote   verifiable.Entry    // of the last vote: most leaves are votes, and an empty one takes time to make
}

// emitLeaf takes the encoding of a public entry, valid during the call, and the key that hides it in its
// leaf, nil where none does: see [hideIn].
type emitLeaf func(data []byte, key *verifiable.SaltKey)

// hideIn returns the data of the leaf of a public entry with an index.
func hideIn(key *verifiable.SaltKey, index int64, data []byte) []byte {
	if key == nil {
		return data
	}
	return verifiable.HideLeaf(*key, index, data)
}

// list calls emit for each public entry that an entry makes.
func (l *entryLister) list(e Entry, at int64, emit emitLeaf) {
	switch e := e.(type) {
	case *voteEntry:
		l.listVote(e, emit)
	case *listedModifier:
		l.emit(&verifiable.Entry{Kind: verifiable.EntryModifier, ByStaff: e.listed.byStaff, Voter: e.listed.voter, Config: l.config, Add: e.add}, emit)
	case *listedConfig:
		l.listConfig(e, at, emit)
	case listedEvent:
		l.listEvent(e, at, emit)
	}
}

func (l *entryLister) listVote(e *voteEntry, emit emitLeaf) {
	if e.listed == nil {
		return
	}
	vote := &l.vote
	vote.Kind, vote.ByStaff, vote.Voter = verifiable.EntryAdd, e.listed.byStaff, e.listed.voter
	vote.Value, vote.Times, vote.Config = e.value, e.times, l.config
	if e.replace {
		vote.Kind = verifiable.EntrySet
	}
	vote.HasNonce, vote.Nonce = false, verifiable.NonceHash{}
	if e.listed.nonce != nil {
		vote.HasNonce, vote.Nonce = true, *e.listed.nonce
	}
	l.emit(vote, emit)
}

func (l *entryLister) listConfig(e *listedConfig, at int64, emit emitLeaf) {
	if e.ends {
		l.key = nil
		l.emit(&verifiable.Entry{Kind: verifiable.EntryReset, At: at}, emit)
		return
	}
	if e.begin != nil {
		l.key = nil
		l.emit(&verifiable.Entry{Kind: verifiable.EntryBegin, Tree: e.begin.tree, Poll: e.begin.poll, At: at}, emit)
	}
	l.config = l.next
	l.emit(&verifiable.Entry{Kind: verifiable.EntryConfig, Settings: e.config.public()}, emit)
	if e.opens {
		l.emit(&verifiable.Entry{Kind: verifiable.EntryOpen, At: at}, emit)
	}
	if e.hides != nil {
		l.emit(&verifiable.Entry{Kind: verifiable.EntryHide, Salt: e.hides.Commitment()}, emit)
		l.key = e.hides
	}
	if e.reveals {
		l.reveal(emit)
	}
}

func (l *entryLister) listEvent(e listedEvent, at int64, emit emitLeaf) {
	switch e.kind {
	case kindClosed:
		l.emit(&verifiable.Entry{Kind: verifiable.EntryClose, At: at}, emit)
		if e.reveals {
			l.reveal(emit)
		}
	case kindErasing:
		l.emit(&verifiable.Entry{Kind: verifiable.EntryErasure, At: at}, emit)
	case kindListedReset:
		l.key = nil
		l.emit(&verifiable.Entry{Kind: verifiable.EntryReset, At: at}, emit)
	}
}

func (l *entryLister) reveal(emit emitLeaf) {
	entry := verifiable.Entry{Kind: verifiable.EntryReveal}
	if l.key != nil {
		entry.Salt = *l.key
	}
	l.key = nil
	l.emit(&entry, emit)
}

func (l *entryLister) emit(e *verifiable.Entry, emit emitLeaf) {
	data, err := e.Append(l.buf[:0])
	if err != nil {
		panic(fmt.Errorf("voting: a configuration was stored that its list cannot have: %w", err))
	}
	l.buf = data
	l.next++
	emit(data, l.key)
}

// public returns the configuration as the list shows it.
func (c *Config) public() verifiable.Config {
	visibility := string(c.ResultsVisibility)
	if visibility == "" {
		visibility = string(contract.VisibleAlways)
	}
	options := c.Options
	if options == nil {
		options = []string{}
	}
	return verifiable.Config{
		Disabled: c.Disabled, DistinctOptionsPerUser: c.DistinctOptionsPerUser, EndsAt: c.EndsAt, LoggedInOnly: c.LoggedInOnly,
		Entries: c.Entries, KeepDays: c.KeepDays, MinVoters: c.MinVoters, NoReceipts: c.NoReceipts,
		Options: options, Prompt: c.Prompt, ResultsVisibility: visibility, ShowCount: c.ShowCount, StartsAt: c.StartsAt, TieBreak: c.TieBreak,
		TotalVotesPerUser: c.TotalVotesPerUser, UserIDVoting: c.UserIDVoting, Version: c.Version, VotesPerOption: c.VotesPerOption,
	}
}
