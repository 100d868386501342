package voting

import (
	"encoding/json"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// listQuery asks for a poll's list of public entries, and for what Voter, Tile and Ballot name of it.
type listQuery struct {
	// Tree names the list: the newest one where it is nil.
	Tree   *verifiable.TreeID `json:"tree,omitempty"`
	Voter  *Voter             `json:"voter,omitempty"`
	Tile   *tileRequest       `json:"tile,omitempty"`
	Ballot *int64             `json:"ballot,omitempty"`
	// Ballots has the ballot tree of a final result grow.
	Ballots bool `json:"ballots,omitempty"`
	visit   bool // keeps no poll in memory
}

// tileRequest names a tile of hashes.
type tileRequest struct {
	Level int   `json:"level"`
	N     int64 `json:"n"`
	Width int   `json:"width"`
}

// listAnswer is the answer to a listQuery, without a head where the poll has no list.
type listAnswer struct {
	Head   *TreeHead     `json:"head,omitempty"`
	Phases []hiddenPhase `json:"phases,omitempty"`
	Listed *Listed       `json:"listed,omitempty"`
	Config *Config       `json:"config,omitempty"`
	Tile   []tlog.Hash   `json:"tile,omitempty"`
	Ballot []byte        `json:"ballot,omitempty"`
}

func (listQuery) decideAt(*State, int64) (pollDecision, error) { return pollDecision{}, nil }

func (q listQuery) answerFrom(s *State) Answer {
	l := q.find(s)
	if l == nil {
		return Answer{list: &listAnswer{}}
	}
	a := &listAnswer{Head: l.head(s, q.Ballots || q.Ballot != nil), Phases: l.phases, Config: s.config}
	if s.ended != nil && l != s.ended {
		a.Head.Ended = s.ended.head(s, false)
	}
	if q.Voter != nil {
		a.Listed = s.findListed(*q.Voter)
	}
	if q.Tile != nil {
		a.Tile = l.entries.tile(q.Tile.Level, q.Tile.N, q.Tile.Width)
	}
	if q.Ballot != nil && a.Head.Ballots != nil {
		a.Ballot = l.proveBallot(s, *q.Ballot)
	}
	return Answer{list: a}
}

// find returns the list that the query is for, nil where the poll has none of that id.
func (q listQuery) find(s *State) *publicList {
	if q.Tree == nil {
		return s.list
	}
	for _, l := range []*publicList{s.list, s.ended} {
		if l != nil && l.tree == *q.Tree {
			return l
		}
	}
	return nil
}

func (q listQuery) appendTo(buf []byte) []byte { return appendJSON(append(buf, queryList), q) }

// appendJSON appends a value that always encodes. What only few requests send needs no form of its own.
func appendJSON(buf []byte, v any) []byte {
	encoded, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return wire.AppendBytes(buf, encoded)
}

func readJSON[T any](r *wire.Reader) (v T) {
	if err := json.Unmarshal(r.Bytes(), &v); err != nil {
		r.Fail(err)
	}
	return v
}
