package verifiable

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// Monitor follows a log and remembers what it needs of it. Its JSON is the state to continue from.
type Monitor struct {
	Keys     []string              `json:"keys"`
	Log      Frontier              `json:"log"`
	At       int64                 `json:"at"` // of the newest leaf, Unix milliseconds
	Polls    map[string]*KnownPoll `json:"polls"`
	Findings findings              `json:"findings"`
}

// KnownPoll is the newest leaf of a poll that has not ended.
type KnownPoll struct {
	Tree     string     `json:"tree"`
	Status   TreeStatus `json:"status"`
	Size     int64      `json:"size"`
	Root     tlog.Hash  `json:"root"`
	Leaf     int64      `json:"leaf"`
	Erasures int64      `json:"erasures"`
	Final    *Sums      `json:"final,omitempty"`
	Ballots  *tlog.Hash `json:"ballots,omitempty"`
}

// NewMonitor returns a monitor that has seen nothing of a log.
func NewMonitor(keys Keys) *Monitor {
	m := &Monitor{Polls: map[string]*KnownPoll{}, Findings: findings{}}
	for _, k := range keys {
		m.Keys = append(m.Keys, k.String())
	}
	return m
}

// Follows reports whether the monitor is of the log with the given keys.
func (m *Monitor) Follows(keys Keys) bool {
	for _, k := range keys {
		if !slices.Contains(m.Keys, k.String()) {
			return false
		}
	}
	return true
}

// monitorStep bounds the leaves that a monitor holds at once.
const monitorStep = 1 << 16

// Update follows the log to its newest checkpoint, and adds what is wrong to the findings. The error
// is about files that it needs and does not get.
func (m *Monitor) Update(ctx context.Context, src Source) error {
	keys, err := ParseKeys(m.Keys)
	if err != nil {
		return err
	}
	if m.Log.Size < 0 || bits.OnesCount64(uint64(m.Log.Size)) != len(m.Log.Hashes) || m.Polls == nil {
		return errors.New("the state of the monitor is damaged")
	}
	tree, ok, err := readCheckpoint(ctx, src, keys, "checkpoint", &m.Findings)
	if !ok {
		return err
	}
	known, files := m.Log.Tree(), newTreeFiles(ctx, src, logFolder)
	if tree.N < known.N {
		return m.shrink(files, known, tree)
	}
	if ok, err = files.contains(tree, known); err != nil {
		return err
	}
	if !ok {
		m.Findings.add(FoundLogForked, "sizes %d and %d", known.N, tree.N)
		return nil
	}
	var unread error
	for m.Log.Size < tree.N {
		trees, done, err := m.advance(files, tree)
		if !done {
			return err
		}
		unread = errors.Join(unread, m.checkTrees(ctx, src, trees))
	}
	return unread
}

// shrink names a log that is shorter than it was.
func (m *Monitor) shrink(files *treeFiles, known, tree tlog.Tree) error {
	ok, err := files.contains(known, tree)
	if err == nil && !ok {
		m.Findings.add(FoundLogForked, "sizes %d and %d", known.N, tree.N)
		return nil
	}
	m.Findings.add(FoundLogRewound, "size %d, it was %d", tree.N, known.N)
	return nil
}

// advance follows the log by one step. It returns the polls' trees that the leaves sign, and false
// where it cannot go on.
func (m *Monitor) advance(files *treeFiles, tree tlog.Tree) (map[TreeID][]tlog.Tree, bool, error) {
	next := Frontier{m.Log.Size, slices.Clone(m.Log.Hashes)}
	to := min(tree.N, next.Size+monitorStep)
	var leaves [][]byte
	err := files.entries(tree.N, next.Size, to, func(_ int64, data []byte) error {
		next.Append(data)
		leaves = append(leaves, data)
		return nil
	})
	var root tlog.Hash
	if err == nil {
		root, err = files.rootAt(tree, to)
	}
	if isReadError(err) {
		return nil, false, err
	}
	if root != next.Tree().Hash { // also where the files were malformed
		m.Findings.add(FoundLogEntries, "leaves %d to %d", m.Log.Size, to-1)
		return nil, false, nil
	}
	trees := map[TreeID][]tlog.Tree{}
	for i, data := range leaves {
		m.see(m.Log.Size+int64(i), data, trees)
	}
	m.Log = next
	return trees, true, nil
}

// see checks a leaf against those before it.
func (m *Monitor) see(index int64, data []byte, trees map[TreeID][]tlog.Tree) {
	l, err := ParseLogLeaf(data)
	if err != nil {
		m.Findings.add(FoundLogLeaf, "leaf %d: %v", index, err)
		return
	}
	if l.At < m.At {
		m.Findings.add(FoundLogLeaf, "leaf %d is older than the one before", index)
	}
	m.At = max(m.At, l.At)
	first, err := ParseKey(m.Keys[0])
	switch {
	case err != nil:
	case (l.Kind == LogBegin) != (index == 0), l.Kind == LogBegin && l.Origin != first.Origin:
		m.Findings.add(FoundLogLeaf, "leaf %d begins another log", index)
	case l.Kind == LogKey:
		m.seeKey(index, &l, first)
	case l.Kind == LogPoll:
		m.seePoll(index, &l, trees)
	}
}

func (m *Monitor) seeKey(index int64, l *LogLeaf, first Key) {
	if k, err := ParseKey(l.Key); err != nil || k.Origin != first.Origin {
		m.Findings.add(FoundLogLeaf, "leaf %d has a key of another log", index)
	} else if !slices.Contains(m.Keys, l.Key) {
		m.Keys = append(m.Keys, l.Key)
	}
}

func (m *Monitor) seePoll(index int64, l *LogLeaf, trees map[TreeID][]tlog.Tree) {
	name := hex.EncodeToString(l.Poll[:])
	last := m.Polls[name]
	if last != nil && last.Tree == l.Tree.String() {
		m.compareLeaf(index, last, l)
		if len(trees[l.Tree]) == 0 {
			trees[l.Tree] = append(trees[l.Tree], tlog.Tree{N: last.Size, Hash: last.Root})
		}
	} else {
		if last != nil && last.Status != TreeReset && last.Status != TreeEnded {
			m.Findings.add(FoundSecondTree, "leaf %d, the tree %s beside %s", index, l.Tree, last.Tree)
		}
		if l.Prev != NoLeaf {
			m.Findings.add(FoundLogLeaf, "leaf %d continues an unknown tree", index)
		}
	}
	trees[l.Tree] = append(trees[l.Tree], l.Entries)
	if l.Status == TreeEnded {
		delete(m.Polls, name)
		return
	}
	now := &KnownPoll{Tree: l.Tree.String(), Status: l.Status, Size: l.Entries.N, Root: l.Entries.Hash, Leaf: index, Erasures: l.Erasures}
	if l.Final {
		now.Final = l.Sums
	}
	if l.Ballots != nil {
		now.Ballots = &l.Ballots.Hash
	}
	m.Polls[name] = now
}

// compareLeaf compares a leaf with the last one of its tree.
func (m *Monitor) compareLeaf(index int64, last *KnownPoll, l *LogLeaf) {
	place := fmt.Sprintf("leaves %d and %d, the tree %s", last.Leaf, index, l.Tree)
	if l.Prev != last.Leaf || l.Erasures < last.Erasures {
		m.Findings.add(FoundLogLeaf, "%s do not continue each other", place)
	}
	switch {
	case l.Entries.N < last.Size:
		m.Findings.add(FoundTreeRewound, "%s: %d entries, then %d", place, last.Size, l.Entries.N)
	case l.Entries.N == last.Size && l.Entries.Hash != last.Root:
		m.Findings.add(FoundTreeForked, "%s", place)
	}
	if last.Final != nil && l.Status == TreeClosed && !last.isFinalOf(l) {
		m.Findings.add(FoundFinalChanged, "%s", place)
	}
}

// isFinalOf reports whether a leaf repeats the final result. It may add the ballots.
func (k *KnownPoll) isFinalOf(l *LogLeaf) bool {
	if l.Sums == nil || *l.Sums != *k.Final {
		return false
	}
	return k.Ballots == nil || l.Ballots != nil && l.Ballots.Hash == *k.Ballots
}

// checkTrees compares the roots that the log signed of each poll's tree with the newest one.
func (m *Monitor) checkTrees(ctx context.Context, src Source, trees map[TreeID][]tlog.Tree) (unread error) {
	for id, list := range trees {
		files := newTreeFiles(ctx, src, treeFolder(id))
		newest := list[len(list)-1]
		for _, older := range list[:len(list)-1] {
			if older.N >= newest.N {
				continue // compareLeaf has named what is wrong
			}
			ok, err := files.contains(newest, older)
			if err != nil {
				unread = errors.Join(unread, err)
				break
			}
			if !ok {
				m.Findings.add(FoundTreeForked, "the tree %s, sizes %d and %d", id, older.N, newest.N)
			}
		}
	}
	return unread
}
