package voting

import (
	"encoding/binary"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// listPlace locates an entry in a list: the first listed entry of each chunk has one.
type listPlace struct {
	ordinal       uint64
	index, config int64
}

// listedVote has the fields that the public entry of a vote or a modifier shows beside the vote.
type listedVote struct {
	place   *listPlace
	voter   int64
	byStaff bool
	nonce   *verifiable.NonceHash
}

// The bits that say what a listed entry has.
const (
	listedByStaff = 1 << iota
	listedNonce
	listedPlace
	listedBegins
	listedOpens
	listedHides
	listedReveals
	listedEnds
)

func (p *listPlace) appendTo(buf []byte) []byte {
	if p == nil {
		return buf
	}
	buf = binary.AppendUvarint(buf, p.ordinal)
	return binary.AppendUvarint(binary.AppendUvarint(buf, uint64(p.index)), uint64(p.config))
}

func readPlace(r *wire.Reader, flags byte) *listPlace {
	if flags&listedPlace == 0 {
		return nil
	}
	return &listPlace{r.Uvarint(), readIndex(r), readIndex(r)}
}

func readIndex(r *wire.Reader) int64 { return checkBounds(r, int64(r.Uvarint()), 0, maxEntries) }

func (l *listedVote) appendTo(buf []byte) []byte {
	flags := placeFlag(l.place)
	if l.byStaff {
		flags |= listedByStaff
	}
	if l.nonce != nil {
		flags |= listedNonce
	}
	buf = binary.AppendUvarint(append(buf, flags), uint64(l.voter))
	if l.nonce != nil {
		buf = append(buf, l.nonce[:]...)
	}
	return l.place.appendTo(buf)
}

func placeFlag(p *listPlace) byte {
	if p == nil {
		return 0
	}
	return listedPlace
}

func readListedVote(r *wire.Reader) *listedVote {
	flags := r.Byte()
	l := &listedVote{byStaff: flags&listedByStaff != 0, voter: readIndex(r)}
	if flags&listedNonce != 0 {
		if encoded := r.Take(len(verifiable.NonceHash{})); len(encoded) > 0 {
			nonce := verifiable.NonceHash(encoded)
			l.nonce = &nonce
		}
	}
	l.place = readPlace(r, flags)
	return l
}

// listedConfig is a configuration of a poll whose votes can be checked, or were until then.
type listedConfig struct {
	config Config
	place  *listPlace
	begin  *listBegin // of a new list
	opens  bool       // after a close
	hides  *verifiable.SaltKey
	// reveals ends a hidden phase, ends the list.
	reveals, ends bool
}

// listBegin names a list that begins.
type listBegin struct {
	tree verifiable.TreeID
	poll verifiable.PollKey
}

func (e *listedConfig) applyTo(s *State, at int64) {
	s.config, s.used = &e.config, true
	if e.begin != nil {
		s.beginList(e.begin)
	}
	if !s.list.isRunning() { // an import may hold what no poll decides
		return
	}
	if e.opens {
		s.list.status = verifiable.TreeOpen
	}
	if e.ends {
		s.list.end()
	}
	s.list.appendEntry(e, at)
}

// end ends the list. Entries that are still hidden stay secret.
func (l *publicList) end() {
	if l.status = verifiable.TreeReset; l.key != nil {
		l.status = verifiable.TreeEnded
	}
}

// beginList begins a list. The one before is kept, so that its end can be reported.
func (s *State) beginList(b *listBegin) {
	next := &publicList{tree: b.tree, poll: b.poll, status: verifiable.TreeOpen, forked: s.voters.isFork()}
	if before := s.list; before != nil {
		if next.ordinal = before.ordinal + 1; !before.forked {
			s.ended = before
		}
	}
	s.list = next
}

func (e *listedConfig) appendTo(buf []byte) []byte {
	flags := placeFlag(e.place)
	for flag, set := range map[byte]bool{listedBegins: e.begin != nil, listedOpens: e.opens, listedHides: e.hides != nil, listedReveals: e.reveals, listedEnds: e.ends} {
		if set {
			flags |= flag
		}
	}
	buf = wire.AppendBytes(append(buf, kindListedConfig, flags), e.config.encodeJSON())
	if e.begin != nil {
		buf = append(append(buf, e.begin.tree[:]...), e.begin.poll[:]...)
	}
	if e.hides != nil {
		buf = append(buf, e.hides[:]...)
	}
	return e.place.appendTo(buf)
}

func readListedConfig(r *wire.Reader) *listedConfig {
	flags := r.Byte()
	e := &listedConfig{config: readConfig(r), opens: flags&listedOpens != 0, reveals: flags&listedReveals != 0, ends: flags&listedEnds != 0}
	if flags&listedBegins != 0 {
		e.begin = &listBegin{}
		copy(e.begin.tree[:], r.Take(len(e.begin.tree)))
		copy(e.begin.poll[:], r.Take(len(e.begin.poll)))
	}
	if flags&listedHides != 0 {
		e.hides = &verifiable.SaltKey{}
		copy(e.hides[:], r.Take(len(e.hides)))
	}
	e.place = readPlace(r, flags)
	if e.config.Verifiable == e.ends || e.config.checkListed() != nil {
		r.Fail(wire.ErrMalformed)
	}
	return e
}

// listedModifier is a modifierEntry of a poll whose votes can be checked.
type listedModifier struct {
	modifierEntry
	listed listedVote
}

func (e *listedModifier) applyTo(s *State, at int64) {
	if !s.list.isRunning() {
		e.modifierEntry.applyTo(s, at)
		return
	}
	_, known := s.numberOf(e.user)
	e.modifierEntry.applyTo(s, at)
	if l := s.list; l.forked {
		l.drafted.add(e.user, e.listed.voter)
	} else {
		l.numbers.noteModifier(e.user, known, e.listed.voter)
	}
	s.list.appendEntry(e, at)
}

func (e *listedModifier) appendTo(buf []byte) []byte {
	buf = wire.AppendBytes(append(buf, kindListedModifier), e.user)
	return e.listed.appendTo(binary.AppendVarint(buf, e.add))
}

// listedEvent is an entry that only the list has, or a reset: it closes the poll, resets it, or says
// that a viewer is erased.
type listedEvent struct {
	kind    byte
	place   *listPlace
	reveals bool    // of a close
	cleared *Config // as of resetEntry
}

func (e listedEvent) applyTo(s *State, at int64) {
	l := s.list
	if !l.isRunning() {
		if e.kind == kindListedReset {
			s.resetAll(e.cleared)
		}
		return
	}
	switch e.kind {
	case kindClosed:
		l.status = verifiable.TreeClosed
	case kindErasing:
		l.erasures++
		config := s.currentConfig()
		l.erasedSmall = l.erasedSmall || !l.forked && l.numbers.count() < config.listRules().MinVoters
	case kindListedReset:
		l.end()
	}
	l.appendEntry(e, at)
	if e.kind == kindListedReset {
		s.resetAll(e.cleared)
		l.numbers, l.base, l.drafted = voterNumbers{}, nil, draftedVoters{}
	}
}

func (e listedEvent) appendTo(buf []byte) []byte {
	flags := placeFlag(e.place)
	if e.reveals {
		flags |= listedReveals
	}
	return e.place.appendTo(append(buf, e.kind, flags))
}

func readListedEvent(r *wire.Reader, kind byte) listedEvent {
	flags := r.Byte()
	return listedEvent{kind: kind, place: readPlace(r, flags), reveals: flags&listedReveals != 0}
}

// placeOf returns the place of the first public entry of an entry that has one.
func placeOf(e Entry) *listPlace {
	switch e := e.(type) {
	case *voteEntry:
		if e.listed != nil {
			return e.listed.place
		}
	case *listedModifier:
		return e.listed.place
	case *listedConfig:
		return e.place
	case listedEvent:
		return e.place
	}
	return nil
}
