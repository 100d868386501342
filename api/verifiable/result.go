package verifiable

import (
	"encoding/json"
	"fmt"
)

// Result is the content of result.json that a check needs. Readers ignore further members.
type Result struct {
	Origin    string       `json:"origin"`
	Tree      string       `json:"tree"` // hexadecimal
	Name      PollName     `json:"name"`
	Now       *NowShown    `json:"now,omitempty"`
	Proved    *ProvedShown `json:"proved"`
	Ballots   *int64       `json:"ballots"`
	Entries   string       `json:"entries"` // live, close or never
	Minimum   int64        `json:"minimum"` // index of the first entry that is kept
	KeepUntil int64        `json:"keepUntil"`
}

// NowShown is the newest result, which nothing proves.
type NowShown struct {
	Votes  ShownVotes `json:"votes"`
	Size   int64      `json:"size,omitempty"` // of the tree
	At     int64      `json:"at,omitempty"`   // Unix milliseconds
	Signed bool       `json:"signed"`         // always false
}

// ShownVotes are statistics as the contract shows them.
type ShownVotes struct {
	Count    json.Number   `json:"count"`
	Sum      json.Number   `json:"sum"`
	Specific []json.Number `json:"specific"`
}

// ProvedShown is the newest signed result.
type ProvedShown struct {
	Leaf  []byte `json:"leaf"`
	Proof string `json:"proof"` // tlog-proof text
	Sums  *Sums  `json:"sums"`  // null while results are hidden
}

// ParseResult decodes result.json.
func ParseResult(text []byte) (*Result, error) {
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("result.json: %w", err)
	}
	if r.Proved == nil {
		return nil, fmt.Errorf("result.json: the poll has no signed result")
	}
	return &r, nil
}

// differs reports whether shown statistics are not those of the sums.
func (v *ShownVotes) differs(s *Sums) bool {
	if v.Count.String() != s.Count.String() || v.Sum != "" && v.Sum.String() != s.Sum.String() {
		return true
	}
	for i, n := range v.Specific {
		if i >= slotCount || n.String() != s.Slots[i].String() {
			return true
		}
	}
	return false
}
