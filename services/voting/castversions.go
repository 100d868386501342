package voting

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
)

// castVersions has the version of the configuration under which each voter of a table voted
// last. While that is one version, as in most polls, it holds nothing for each voter, and else
// two bytes.
type castVersions struct {
	known []int64  // versions with votes
	all   uint16   // where of is nil, the mark of all voters
	of    []uint16 // the mark of each record: 1 + the position of the version in known, 0 for none
}

// note notes that the voter of record i, of so many, voted under a version, which is 0 before the
// first configuration and of one that an earlier release saved.
func (c *castVersions) note(i, voters int, version int64) { c.noteMark(i, voters, c.markOf(version)) }

func (c *castVersions) noteMark(i, voters int, mark uint16) {
	switch {
	case c.of == nil && (voters == 1 || mark == c.all):
		c.all = mark
	case c.of == nil:
		c.of = slices.Repeat([]uint16{c.all}, voters)
		c.of[i] = mark
	case i == len(c.of):
		c.of = append(c.of, mark)
	default:
		c.of[i] = mark
	}
}

func (c *castVersions) markOf(version int64) uint16 {
	n := len(c.known)
	switch {
	case version == 0:
		return 0
	case n > 0 && c.known[n-1] == version:
		return uint16(n)
	case n == math.MaxUint16: // after so many configurations the earlier ones are forgotten
		*c = castVersions{}
	}
	c.known = append(c.known, version)
	return uint16(len(c.known))
}

// at returns the version under which the voter of record i voted, 0 where it is not known.
func (c *castVersions) at(i int) int64 {
	mark := c.markAt(i)
	if mark == 0 {
		return 0
	}
	return c.known[mark-1]
}

func (c *castVersions) markAt(i int) uint16 {
	if c.of == nil {
		return c.all
	}
	return c.of[i]
}

func (c *castVersions) memorySize() int { return 8*cap(c.known) + 2*cap(c.of) }

// storedCastVersions are castVersions in a snapshot.
type storedCastVersions struct {
	Known []int64 `json:"known"`
	All   uint16  `json:"all,omitempty"`
	Of    []byte  `json:"of,omitempty"` // little endian
}

// snapshotConfig is a configuration in a snapshot. An earlier release reads past what is not of
// the configuration, and leaves it out of its own snapshots: then no version is known of the
// votes in them.
type snapshotConfig struct {
	Config
	CastVersions *storedCastVersions `json:"castVersions,omitempty"`
}

func (c snapshotConfig) encodeJSON() []byte {
	encoded, err := exactjson.Marshal(c)
	if err != nil {
		panic(err) // as in Config.encodeJSON
	}
	return encoded
}

func (c *castVersions) toStored() *storedCastVersions {
	if len(c.known) == 0 {
		return nil
	}
	stored := &storedCastVersions{Known: c.known, All: c.all}
	for _, mark := range c.of {
		stored.Of = binary.LittleEndian.AppendUint16(stored.Of, mark)
	}
	return stored
}

// restore returns what was stored for a table with so many records, and whether that is sound.
func (c *storedCastVersions) restore(voters int) (restored castVersions, ok bool) {
	if c == nil {
		return restored, true
	}
	restored = castVersions{known: c.Known, all: c.All}
	if len(c.Of) > 0 {
		if len(c.Of) != 2*voters {
			return restored, false
		}
		restored.of = make([]uint16, voters)
		for i := range restored.of {
			restored.of[i] = binary.LittleEndian.Uint16(c.Of[2*i:])
		}
	}
	sound := func(mark uint16) bool { return int(mark) <= len(c.Known) }
	ok = len(c.Known) <= math.MaxUint16 && sound(c.All) && !slices.ContainsFunc(restored.of, func(mark uint16) bool { return !sound(mark) })
	return restored, ok
}

// castVersion returns the version of the configuration under which the voter voted last, 0 where
// it is not known.
func (s *State) castVersion(v Voter) int64 {
	id, _ := v.identityIn(s.currentConfig().UserIDVoting)
	if i, ok := s.voters.table.findRecord(id); ok {
		return s.cast.at(i)
	}
	return 0
}

// ConfigFor is Config and returns the version of the configuration under which the voter's stored
// vote was cast, too: 0 where there is none, or it is not known, as of votes from before the
// first configuration, of those in snapshots of an earlier release, and while a process of one
// is alive.
func (s *Service) ConfigFor(ctx context.Context, p Poll, v Voter) (config Config, status contract.Status, saved bool, cast int64, err error) {
	if !s.reads(stream.LevelCastVersions) {
		config, status, saved, err = s.Config(ctx, p)
		return config, status, saved, 0, err
	}
	answer, err := s.engine.View(ctx, p.Stream(), voterQuery{v})
	config, status, saved = s.readConfig(answer)
	if answer.version != nil {
		cast = *answer.version
	}
	return config, status, saved, cast, err
}

// voterQuery asks for the configuration, and the version of it under which the voter voted.
type voterQuery struct{ voter Voter }

func (voterQuery) decideAt(*State, int64) (pollDecision, error) { return pollDecision{}, nil }

func (q voterQuery) answerFrom(s *State) Answer {
	version := s.castVersion(q.voter)
	return Answer{config: s.config, version: &version}
}

func (q voterQuery) appendTo(buf []byte) []byte {
	return q.voter.appendTo(append(buf, queryVoter))
}
