package verifiable

import (
	"encoding/binary"
	"fmt"
	"math"

	"golang.org/x/mod/sumdb/tlog"
)

// LogLeafKind is the kind of a leaf of the log.
type LogLeafKind uint8

// The kinds of log leaves.
const (
	LogBegin LogLeafKind = 1
	LogKey   LogLeafKind = 2
	LogPoll  LogLeafKind = 3
)

// TreeStatus is the status of a poll's tree in the log.
type TreeStatus uint8

// The statuses of a tree.
const (
	TreeOpen   TreeStatus = 1
	TreeClosed TreeStatus = 2
	TreeReset  TreeStatus = 3
	TreeEnded  TreeStatus = 4
)

// The bits of a log leaf's flags.
const (
	leafHasSums    = 1
	leafFinal      = 2
	leafHasBallots = 4
)

// NoLeaf is the Prev of a tree's first leaf.
const NoLeaf = -1

// LogLeaf is a leaf of the log. A kind uses only some fields; the others are zero.
type LogLeaf struct {
	Kind LogLeafKind
	At   int64 // Unix milliseconds

	Origin string
	// Old is the tree of the log that this one follows, zero without one.
	OldOrigin string
	Old       tlog.Tree

	Key string // the new verifier key

	Poll     PollKey
	Tree     TreeID
	Status   TreeStatus
	Entries  tlog.Tree // size and root of the poll's tree
	Prev     int64     // index of this tree's last leaf
	Erasures int64
	Final    bool
	Sums     *Sums
	Ballots  *tlog.Tree // number and root of the ballots
}

// Encode returns the only encoding of the leaf, or an error for one that has none.
func (l *LogLeaf) Encode() ([]byte, error) {
	buf := []byte{1, uint8(l.Kind)}
	buf = binary.BigEndian.AppendUint64(buf, uint64(l.At))
	switch l.Kind {
	case LogBegin:
		buf = appendBlock(appendBlock(buf, []byte(l.Origin)), []byte(l.OldOrigin))
		buf = appendTree(buf, l.Old)
	case LogKey:
		buf = appendBlock(buf, []byte(l.Key))
	case LogPoll:
		buf = l.appendPoll(buf)
	}
	_, err := ParseLogLeaf(buf)
	return buf, err
}

func appendTree(buf []byte, t tlog.Tree) []byte {
	return append(binary.BigEndian.AppendUint64(buf, uint64(t.N)), t.Hash[:]...)
}

func (d *decoder) tree() tlog.Tree { return tlog.Tree{N: d.index(), Hash: tlog.Hash(d.bytes(32))} }

func (l *LogLeaf) appendPoll(buf []byte) []byte {
	var flags uint8
	if l.Sums != nil {
		flags |= leafHasSums
	}
	if l.Final {
		flags |= leafFinal
	}
	if l.Ballots != nil {
		flags |= leafHasBallots
	}
	buf = append(append(buf, l.Poll[:]...), l.Tree[:]...)
	buf = appendTree(append(buf, uint8(l.Status), flags), l.Entries)
	buf = binary.BigEndian.AppendUint64(buf, uint64(l.Prev)) // NoLeaf is 2^64-1
	buf = binary.BigEndian.AppendUint64(buf, uint64(l.Erasures))
	if l.Sums != nil {
		buf = appendBlock(buf, l.Sums.Append(nil))
	}
	if l.Ballots != nil {
		buf = appendTree(buf, *l.Ballots)
	}
	return buf
}

// ParseLogLeaf decodes a leaf. It refuses whatever [LogLeaf.Encode] does not write.
func ParseLogLeaf(data []byte) (LogLeaf, error) {
	d := decoder{rest: data}
	d.expect(1)
	l := LogLeaf{Kind: LogLeafKind(d.u8()), At: d.index()}
	switch l.Kind {
	case LogBegin:
		l.Origin, l.OldOrigin, l.Old = string(d.block()), string(d.block()), d.tree()
		d.fail(CheckOrigin(l.Origin))
		if l.OldOrigin != "" {
			d.fail(CheckOrigin(l.OldOrigin))
		} else if l.Old != (tlog.Tree{}) {
			d.fail(errNotZero)
		}
	case LogKey:
		l.Key = string(d.block())
		_, err := ParseKey(l.Key)
		d.fail(err)
	case LogPoll:
		l.parsePoll(&d)
	default:
		d.fail(errUnknown)
	}
	if err := d.end(); err != nil {
		return LogLeaf{}, fmt.Errorf("log leaf: %w", err)
	}
	return l, nil
}

func (l *LogLeaf) parsePoll(d *decoder) {
	l.Poll, l.Tree, l.Status = PollKey(d.bytes(32)), TreeID(d.bytes(16)), TreeStatus(d.u8())
	flags := d.u8()
	if l.Status < TreeOpen || l.Status > TreeEnded || flags&^(leafHasSums|leafFinal|leafHasBallots) != 0 {
		d.fail(errUnknown)
	}
	l.Entries = d.tree()
	if prev := d.u64(); prev == math.MaxUint64 {
		l.Prev = NoLeaf
	} else if l.Prev = int64(prev); l.Prev < 0 {
		d.fail(errNumber)
	}
	l.Erasures = d.index()
	if l.Final = flags&leafFinal != 0; l.Final && (l.Status != TreeClosed || flags&leafHasSums == 0) {
		d.fail(fmt.Errorf("a final result is of a closed poll and has sums"))
	}
	if flags&leafHasSums != 0 {
		s, err := ParseSums(d.block())
		d.fail(err)
		l.Sums = &s
	}
	if flags&leafHasBallots != 0 {
		b := d.tree()
		l.Ballots = &b
	}
}
