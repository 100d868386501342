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
}

// list calls emit with the data of each leaf that an entry makes. The data is valid during the call.
func (l *entryLister) list(e Entry, at int64, emit func(leaf []byte)) {
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

func (l *entryLister) listVote(e *voteEntry, emit func(leaf []byte)) {
	if e.listed == nil {
		return
	}
	entry := verifiable.Entry{
		Kind: verifiable.EntryAdd, ByStaff: e.listed.byStaff, Voter: e.listed.voter,
		Value: e.value, Times: e.times, Config: l.config,
	}
	if e.replace {
		entry.Kind = verifiable.EntrySet
	}
	if e.listed.nonce != nil {
		entry.HasNonce, entry.Nonce = true, *e.listed.nonce
	}
	l.emit(&entry, emit)
}

func (l *entryLister) listConfig(e *listedConfig, at int64, emit func(leaf []byte)) {
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

func (l *entryLister) listEvent(e listedEvent, at int64, emit func(leaf []byte)) {
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

func (l *entryLister) reveal(emit func(leaf []byte)) {
	entry := verifiable.Entry{Kind: verifiable.EntryReveal}
	if l.key != nil {
		entry.Salt = *l.key
	}
	l.key = nil
	l.emit(&entry, emit)
}

func (l *entryLister) emit(e *verifiable.Entry, emit func(leaf []byte)) {
	data, err := e.Append(l.buf[:0])
	if err != nil {
		panic(fmt.Errorf("voting: a configuration was stored that its list cannot have: %w", err))
	}
	l.buf = data
	if l.key != nil {
		data = verifiable.HideLeaf(*l.key, l.next, data)
	}
	l.next++
	emit(data)
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
