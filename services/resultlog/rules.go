package resultlog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// logState has the newest leaf of each list, and the tree of all leaves.
type logState struct {
	origin string
	at     int64 // of the newest leaf, Unix milliseconds
	leaves verifiable.GrowingTree
	lists  map[verifiable.TreeID]*Record
	newest map[verifiable.PollKey]verifiable.TreeID
	keys   []string // verifier keys that the log was handed over to
	// awaited has the streams of the polls of the log before this one that are not in this one yet.
	awaited map[string]bool
	// begun counts the logs that began in the stream, forked reports a scratch state.
	begun  uint64
	forked bool
}

// leavesEntry holds leaves that follow one another.
type leavesEntry struct {
	begun  uint64 // which of the logs of the stream
	first  int64  // index of the first leaf
	leaves []newLeaf
}

type newLeaf struct {
	stream string // of the poll, empty of a leaf that is of none
	data   []byte
}

// logCommand reports polls or begins the log, or asks.
type logCommand struct {
	Begin      string             `json:"begin,omitempty"`
	Old        string             `json:"old,omitempty"`
	Reports    []Report           `json:"reports,omitempty"`
	Key        string             `json:"key,omitempty"`
	Tree       *verifiable.TreeID `json:"tree,omitempty"`
	Tile       *tileRequest       `json:"tile,omitempty"`
	Unfinished bool               `json:"unfinished,omitempty"`
	After      string             `json:"after,omitempty"`
	Since      int64              `json:"since,omitempty"`
}

type tileRequest struct {
	Level int   `json:"level"`
	N     int64 `json:"n"`
	Width int   `json:"width"`
}

type logAnswer struct {
	Origin   string         `json:"origin,omitempty"`
	Tree     tlog.Tree      `json:"tree"`
	Begun    uint64         `json:"begun,omitempty"`
	Keys     []string       `json:"keys,omitempty"`
	Refusals map[int]string `json:"refusals,omitempty"`
	Record   *Record        `json:"record,omitempty"`
	Tile     []tlog.Hash    `json:"tile,omitempty"`
	Streams  []string       `json:"streams,omitempty"`
	Since    tlog.Tree      `json:"since,omitzero"`
}

func (a *logAnswer) log() Log { return Log{a.Origin, a.Tree, a.Keys, a.Since} }

type logDecision = stream.Decision[*leavesEntry, logAnswer]

// logRules are the domain as the stream engine calls it.
type logRules struct{}

var _ stream.Rules[*logState, logCommand, *leavesEntry, logAnswer] = logRules{}

func (logRules) New() *logState {
	return &logState{lists: map[verifiable.TreeID]*Record{}, newest: map[verifiable.PollKey]verifiable.TreeID{}}
}

func (logRules) Fork(*logState) *logState { return &logState{forked: true} }

func (logRules) Size(s *logState) int { return 1024 + s.leaves.MemorySize() + 1024*len(s.lists) }

func (logRules) Equal(a, b *logState) bool {
	return a.origin == b.origin && a.at == b.at && a.begun == b.begun && slices.Equal(a.keys, b.keys) && a.leaves.Root() == b.leaves.Root() &&
		maps.Equal(a.newest, b.newest) && maps.Equal(a.awaited, b.awaited) && maps.EqualFunc(a.lists, b.lists, func(a, b *Record) bool {
		return a.Stream == b.Stream && a.Index == b.Index && string(a.Data) == string(b.Data)
	})
}

func (logRules) Decide(s *logState, at int64, c logCommand) (logDecision, error) {
	if s.forked { // one command at a time: there are few
		return logDecision{}, fault.New(fault.Unavailable, "The log has just got leaves")
	}
	d := leafDrafter{state: s, at: max(at, s.at), entry: &leavesEntry{begun: s.begun, first: s.leaves.Size()}, refusals: map[int]string{}, drafted: map[verifiable.PollKey]bool{}}
	if c.Begin != "" {
		return d.begin(c.Begin, c.Old)
	}
	if s.origin == "" || len(c.Reports) > maxReports {
		return logDecision{}, fault.New(fault.Invalid, "The log has not begun, or there are too many reports")
	}
	if err := d.handOver(c.Key); err != nil {
		return logDecision{}, err
	}
	for i := range c.Reports {
		if err := d.addReport(&c.Reports[i]); err != nil {
			d.refusals[i] = err.Error()
		}
	}
	return logDecision{Entry: d.entry, Store: len(d.entry.leaves) > 0, Result: logAnswer{Refusals: d.refusals}}, nil
}

func (logRules) Answer(s *logState, c logCommand, decided logAnswer) logAnswer {
	a := logAnswer{Origin: s.origin, Tree: s.leaves.Root(), Begun: s.begun, Keys: s.keys, Refusals: decided.Refusals}
	if c.Since > 0 {
		a.Since, _ = s.leaves.RootAt(c.Since)
	}
	if c.Tree != nil {
		a.Record = s.lists[*c.Tree]
	}
	if c.Tile != nil {
		a.Tile, _ = s.leaves.Tile(c.Tile.Level, c.Tile.N, c.Tile.Width)
	}
	if c.Unfinished {
		a.Streams = s.listUnfinished(c.After)
	}
	return a
}

func (s *logState) listUnfinished(after string) (names []string) {
	for _, tree := range s.newest {
		if r := s.lists[tree]; r.isUnfinished() && r.Stream > after {
			names = append(names, r.Stream)
		}
	}
	for name := range s.awaited {
		if name > after {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), maxListed)]
}

func (logRules) Apply(s *logState, _ int64, e *leavesEntry) {
	if s.forked {
		return
	}
	for _, l := range e.leaves {
		leaf, err := verifiable.ParseLogLeaf(l.data)
		if err != nil {
			continue // only a leaf that no rule has made
		}
		s.add(l, leaf)
	}
}

// add adds a leaf. One that begins a log is the first of it.
func (s *logState) add(l newLeaf, leaf verifiable.LogLeaf) {
	if leaf.Kind == verifiable.LogBegin {
		awaited := map[string]bool{}
		maps.Copy(awaited, s.awaited)
		for _, list := range s.lists {
			awaited[list.Stream] = true
		}
		*s = logState{
			origin: leaf.Origin, begun: s.begun + 1, awaited: awaited,
			lists: map[verifiable.TreeID]*Record{}, newest: map[verifiable.PollKey]verifiable.TreeID{},
		}
	}
	index := s.leaves.Size()
	s.leaves.AppendLeaf(l.data)
	s.at = leaf.At
	if leaf.Kind == verifiable.LogKey {
		s.keys = append(slices.Clip(s.keys), leaf.Key) // answers share the others
	}
	if leaf.Kind == verifiable.LogPoll {
		delete(s.awaited, l.stream)
		s.lists[leaf.Tree] = &Record{Stream: l.stream, Index: index, Data: bytes.Clone(l.data), leaf: leaf} // data may share a chunk
		s.newest[leaf.Poll] = leaf.Tree
	}
}

func (logRules) RepeatResult(*logState, logCommand) logAnswer { return logAnswer{} }

func (logRules) ReconstructResult(logCommand) (logAnswer, error) { return logAnswer{}, nil }

func (logRules) Identities(*leavesEntry) []string { return nil }

func (logRules) Redact(e *leavesEntry, _ func(string) string, _ bool) *leavesEntry { return e }

func (logRules) Rename(s *logState, _ func(string) string) *logState { return s }

func (logRules) AppendCommand(buf []byte, c logCommand) []byte { return appendJSON(buf, c) }

func (logRules) DecodeCommand(r *wire.Reader) logCommand { return readJSON[logCommand](r) }

func (logRules) AppendResult(buf []byte, a, _ logAnswer) []byte { return appendJSON(buf, a) }

func (logRules) DecodeResult(r *wire.Reader, _ logAnswer) logAnswer { return readJSON[logAnswer](r) }

func appendJSON(buf []byte, v any) []byte {
	encoded, err := json.Marshal(v)
	if err != nil {
		panic(err) // values of this package, which always encode
	}
	return wire.AppendBytes(buf, encoded)
}

func readJSON[T any](r *wire.Reader) (v T) {
	if err := json.Unmarshal(r.Bytes(), &v); err != nil {
		r.Fail(err)
	}
	return v
}

// leafDrafter makes the leaves of one command.
type leafDrafter struct {
	state    *logState
	at       int64
	entry    *leavesEntry
	refusals map[int]string
	drafted  map[verifiable.PollKey]bool // the polls that have a leaf already
}

func (d *leafDrafter) begin(origin, old string) (logDecision, error) {
	if old != d.state.origin {
		return logDecision{}, nil
	}
	leaf := verifiable.LogLeaf{Kind: verifiable.LogBegin, At: d.at, Origin: origin}
	if d.state.origin != "" {
		leaf.OldOrigin, leaf.Old = d.state.origin, d.state.leaves.Root()
	}
	d.entry.begun, d.entry.first = d.state.begun+1, 0
	if err := d.append(&leaf, ""); err != nil {
		return logDecision{}, fault.Wrap(fault.Invalid, err, "The origin cannot be that of a log")
	}
	return logDecision{Entry: d.entry, Store: true}, nil
}

// handOver adds a leaf that names a key, unless the log has it.
func (d *leafDrafter) handOver(vkey string) error {
	if vkey == "" || slices.Contains(d.state.keys, vkey) {
		return nil
	}
	if k, err := verifiable.ParseKey(vkey); err != nil || k.Origin != d.state.origin {
		return fault.New(fault.Invalid, "The key is not one of this log")
	}
	return d.append(&verifiable.LogLeaf{Kind: verifiable.LogKey, At: d.at, Key: vkey}, "")
}

func (d *leafDrafter) append(leaf *verifiable.LogLeaf, stream string) error {
	data, err := leaf.Encode()
	if err != nil {
		return err
	}
	d.entry.leaves = append(d.entry.leaves, newLeaf{stream, data})
	return nil
}

// addReport adds the leaf of a report, behind one that ends the poll's list before, if there is one.
func (d *leafDrafter) addReport(r *Report) error {
	leaf := r.Leaf
	if leaf.Kind != verifiable.LogPoll {
		return fault.New(fault.Invalid, "a report is of a poll")
	}
	if d.drafted[leaf.Poll] {
		return nil // a poll has one report in a command
	}
	d.drafted[leaf.Poll] = true
	leaf.At, leaf.Prev = d.at, verifiable.NoLeaf
	known := d.state.lists[leaf.Tree]
	if known != nil {
		if err := known.checkNext(&leaf, r.Consistency); err != nil || known.isSaid(&leaf) {
			return err
		}
		leaf.Prev = known.Index
	}
	if before, ok := d.state.newest[leaf.Poll]; ok && before != leaf.Tree {
		if err := d.endList(d.state.lists[before], r.Ended); err != nil {
			return err
		}
	}
	return d.append(&leaf, r.Stream)
}

// endList ends a poll's list before another one begins: as it was reported, or as the log knows it.
func (d *leafDrafter) endList(known *Record, reported *verifiable.LogLeaf) error {
	if s := known.leaf.Status; s == verifiable.TreeReset || s == verifiable.TreeEnded {
		return nil
	}
	end := known.leaf
	if reported != nil && reported.Tree == end.Tree && reported.Entries.N >= end.Entries.N && reported.Status >= verifiable.TreeReset {
		end = *reported
	} else {
		end.Status = verifiable.TreeEnded
	}
	end.At, end.Prev, end.Final, end.Ballots, end.Sums = d.at, known.Index, false, nil, nil
	return d.append(&end, known.Stream)
}

var (
	errSmaller      = fault.New(fault.Conflict, "the list is smaller than the log says")
	errContradicted = fault.New(fault.Conflict, "the list does not continue the one that the log has")
)

// checkNext returns why a leaf may not follow the list's newest one, or nil.
func (r *Record) checkNext(leaf *verifiable.LogLeaf, proof tlog.TreeProof) error {
	before, after := r.leaf.Entries, leaf.Entries
	switch {
	case after.N < before.N:
		return errSmaller
	case after.N == before.N && after.Hash != before.Hash:
		return errContradicted
	case after.N > before.N && tlog.CheckTree(proof, after.N, after.Hash, before.N, before.Hash) != nil:
		return errContradicted
	}
	return nil
}

// isSaid reports whether the newest leaf says all of a report.
func (r *Record) isSaid(leaf *verifiable.LogLeaf) bool {
	same := *leaf
	same.At, same.Prev = r.leaf.At, r.leaf.Prev
	data, err := same.Encode()
	return err == nil && string(data) == string(r.Data)
}

// sortedLists returns the lists in the order of their leaves.
func (s *logState) sortedLists() []*Record {
	return slices.SortedFunc(maps.Values(s.lists), func(a, b *Record) int { return cmp.Compare(a.Index, b.Index) })
}
