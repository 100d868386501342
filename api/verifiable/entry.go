package verifiable

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// EntryKind is the kind of an entry of a poll's tree.
type EntryKind uint8

// The kinds of entries.
const (
	EntryAdd      EntryKind = 1
	EntrySet      EntryKind = 2
	EntryModifier EntryKind = 3
	EntryConfig   EntryKind = 4
	EntryBegin    EntryKind = 5
	EntryReset    EntryKind = 6
	EntryClose    EntryKind = 7
	EntryOpen     EntryKind = 8
	EntryErasure  EntryKind = 9
	EntryHide     EntryKind = 10
	EntryReveal   EntryKind = 11
)

// Bounds of a vote.
const (
	minValue = -128
	maxValue = 128
	maxTimes = 30
)

// The bits of an entry's flags.
const (
	entryByStaff  = 1
	entryHasNonce = 2
)

// Entry is an entry of a poll's tree. A kind uses only some fields; the others are zero.
type Entry struct {
	Kind     EntryKind
	ByStaff  bool // submitted by staff or the extension's own server
	HasNonce bool
	Nonce    NonceHash
	Voter    int64 // index of the voter's first entry since the last reset
	Value    int16
	Times    uint16
	Config   int64  // index of the newest configuration before the entry
	Add      int64  // of a modifier
	Settings Config // of a configuration
	Tree     TreeID
	Poll     PollKey
	At       int64 // Unix milliseconds
	// Salt is the digest of a salt key in the entry that hides, the key in the one that reveals.
	Salt [32]byte
}

func (k EntryKind) isVote() bool { return k == EntryAdd || k == EntrySet }

func (k EntryKind) hasVoter() bool { return k.isVote() || k == EntryModifier }

func (k EntryKind) hasTime() bool { return k >= EntryReset && k <= EntryErasure }

// Encode returns the only encoding of the entry, or an error for one that has none.
func (e *Entry) Encode() ([]byte, error) {
	buf, err := e.Append(nil)
	if err == nil {
		_, err = ParseEntry(buf)
	}
	return buf, err
}

// Append is Encode for entries whose fields are known to be in range: the error is that of a
// configuration.
func (e *Entry) Append(buf []byte) ([]byte, error) {
	var flags uint8
	if e.ByStaff {
		flags |= entryByStaff
	}
	if e.HasNonce {
		flags |= entryHasNonce
	}
	buf = append(buf, 1, uint8(e.Kind), flags, 0)
	buf = binary.BigEndian.AppendUint64(buf, uint64(e.Voter))
	buf = binary.BigEndian.AppendUint16(buf, uint16(e.Value))
	buf = binary.BigEndian.AppendUint16(buf, e.Times)
	buf = binary.BigEndian.AppendUint64(buf, uint64(e.Config))
	buf = append(buf, e.Nonce[:]...)
	switch {
	case e.Kind == EntryModifier:
		buf = binary.BigEndian.AppendUint64(buf, uint64(e.Add))
	case e.Kind == EntryConfig:
		settings := e.Settings // so that of the entries only configurations are on the heap
		text, err := settings.Encode()
		if err != nil {
			return nil, err
		}
		buf = append(buf, text...)
	case e.Kind == EntryBegin:
		buf = append(append(buf, e.Tree[:]...), e.Poll[:]...)
		buf = binary.BigEndian.AppendUint64(buf, uint64(e.At))
	case e.Kind.hasTime():
		buf = binary.BigEndian.AppendUint64(buf, uint64(e.At))
	case e.Kind == EntryHide || e.Kind == EntryReveal:
		buf = append(buf, e.Salt[:]...)
	}
	return buf, nil
}

// ParseEntry decodes an entry. It refuses whatever [Entry.Encode] does not write.
func ParseEntry(data []byte) (Entry, error) {
	d := decoder{rest: data}
	d.expect(1)
	e := Entry{Kind: EntryKind(d.u8())}
	flags := d.u8()
	e.ByStaff, e.HasNonce = flags&entryByStaff != 0, flags&entryHasNonce != 0
	if flags&^(entryByStaff|entryHasNonce) != 0 || e.Kind < EntryAdd || e.Kind > EntryReveal {
		d.fail(errUnknown)
	}
	d.expect(0)
	e.Voter, e.Value, e.Times, e.Config = d.index(), int16(d.u16()), d.u16(), d.index()
	e.Nonce = NonceHash(d.bytes(16))
	e.parseTail(&d)
	if d.err == nil {
		d.fail(e.check())
	}
	if err := d.end(); err != nil {
		return Entry{}, fmt.Errorf("entry: %w", err)
	}
	return e, nil
}

func (e *Entry) parseTail(d *decoder) {
	switch {
	case e.Kind == EntryModifier:
		e.Add = d.i64()
	case e.Kind == EntryConfig:
		settings, err := ParseConfig(d.bytes(len(d.rest)))
		if err != nil {
			d.fail(err)
		}
		e.Settings = settings
	case e.Kind == EntryBegin:
		e.Tree, e.Poll, e.At = TreeID(d.bytes(16)), PollKey(d.bytes(32)), d.i64()
	case e.Kind.hasTime():
		e.At = d.i64()
	case e.Kind == EntryHide || e.Kind == EntryReveal:
		e.Salt = [32]byte(d.bytes(32))
	}
}

// check returns an error for a field out of range, or set where the kind does not use it.
func (e *Entry) check() error {
	unused := Entry{ByStaff: e.ByStaff, HasNonce: e.HasNonce, Nonce: e.Nonce, Voter: e.Voter, Value: e.Value, Times: e.Times, Config: e.Config}
	switch {
	case e.Kind.isVote():
		if e.Value < minValue || e.Value > maxValue || e.Times < 1 || e.Times > maxTimes {
			return errNumber
		}
		unused = Entry{}
		if !e.HasNonce {
			unused.Nonce = e.Nonce
		}
	case e.Kind == EntryModifier:
		unused.ByStaff, unused.Voter, unused.Config = false, 0, 0
	}
	if !unused.isZero() {
		return errNotZero
	}
	if e.At < 0 {
		return errNumber
	}
	return nil
}

// isZero reports whether the fields are zero that all kinds have.
func (e *Entry) isZero() bool {
	return !e.ByStaff && !e.HasNonce && e.Nonce == NonceHash{} && e.Voter|e.Config == 0 && e.Value == 0 && e.Times == 0
}

// SaltKey is the secret of a hidden phase, which makes its leaves unguessable until it is revealed.
type SaltKey [32]byte

// Commitment returns the digest that the hide entry shows.
func (k SaltKey) Commitment() [32]byte {
	return sha256.Sum256(append([]byte("acclaim salt v1\n"), k[:]...))
}

// salt stands before a hidden entry in its leaf.
type salt [16]byte

func (k SaltKey) saltAt(index int64) salt {
	mac := hmac.New(sha256.New, k[:])
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(index)))
	return salt(mac.Sum(nil)[:16])
}

// HideLeaf returns the leaf data of an encoded entry at an index of a hidden phase.
func HideLeaf(key SaltKey, index int64, entry []byte) []byte {
	s := key.saltAt(index)
	return append(append([]byte{2}, s[:]...), entry...)
}

// leaf is the data of a leaf of a poll's tree.
type leaf struct {
	entry  Entry
	hidden bool
	salt   salt
}

func parseLeaf(data []byte) (leaf, error) {
	if len(data) == 0 || data[0] != 2 {
		e, err := ParseEntry(data)
		return leaf{entry: e}, err
	}
	d := decoder{rest: data[1:]}
	s := salt(d.bytes(16))
	if d.err != nil {
		return leaf{}, d.err
	}
	e, err := ParseEntry(d.rest)
	return leaf{entry: e, hidden: true, salt: s}, err
}

// EntryOfLeaf decodes the entry in the data of a leaf, salted or not.
func EntryOfLeaf(data []byte) (Entry, error) {
	l, err := parseLeaf(data)
	return l.entry, err
}
