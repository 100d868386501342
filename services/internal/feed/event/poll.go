package event

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// resetStats takes the place of a poll's digest once the audience knows of the
// deletion, but not of what followed it. It is no digest.
const resetStats = "deleted"

// PollReader are read for their statistics, and have polls closed whose end has passed.
type PollReader interface {
	Conclude(ctx context.Context, p voting.Poll, now time.Time) (voting.Overview, error)
}

func loadPoll(ctx context.Context, stores *Stores, s Source, _ Knowledge, now time.Time) (*sourceRead, error) {
	p := voting.Poll{Environment: s.Audience.Environment, Extension: s.Audience.Extension, Channel: s.Audience.Channel, ID: s.ID}
	o, err := stores.Polls.Conclude(ctx, p, now)
	return &sourceRead{head: o.Head, diff: func(s Source, known Knowledge, now time.Time, side Sight) Change {
		return DiffPoll(s, known, o, now, side)
	}}, err
}

// DiffPoll compares what a side of an audience knows of a poll with what it may see of a
// read of it at a time. The latest configuration and the latest statistics win. A deletion
// has an event of its own, before the others; so has the end of the poll, with or without
// votes, once no vote can come any more.
func DiffPoll(s Source, known Knowledge, read voting.Overview, now time.Time, side Sight) Change {
	status := statusAfter(known, read, now)
	if side == Viewers {
		read = read.ForViewers(status)
	}
	final := pollKnowledge(read, status)
	var steps []Step
	deleted := known.Resets != read.Resets
	ended := final.Ended != 0 && (deleted || final.Ended != known.Ended)
	repeats := deleted && !ended && known.Stats == "" && final.Stats == ""
	if deleted {
		known.Resets, known.Stats, known.Config, known.Status = read.Resets, resetStats, "", ""
		steps = append(steps, Step{Event: s.newEvent(contract.VoteDelete+s.ID, pollData(s.ID, nil, ""), read.Resets), After: known})
	}
	if final.announces(known) {
		e := s.newEvent(contract.PollUpdate+s.ID, read.Config.View(s.ID, status).JSON(), configPlace(final)...)
		known = knowConfig(known, final)
		steps = append(steps, Step{Event: e, After: known})
	}
	if ended || known.Stats != final.Stats {
		e := s.newEvent(contract.VoteUpdate+s.ID, pollData(s.ID, read.Statistics, status), read.Head, uint64(final.Ended))
		steps = append(steps, Step{Event: e, Repeats: repeats})
	}
	if len(steps) > 0 {
		steps[len(steps)-1].After = final
	}
	return Change{Steps: steps, Final: final, Wait: read.Wait}
}

// statusAfter returns the status of a poll at a time: expired once its log says so. A status
// that the audience knows is not taken back without another configuration: another process's
// clock may be ahead.
func statusAfter(known Knowledge, read voting.Overview, now time.Time) contract.Status {
	status, end := read.Status(now), read.Config.EndsAt
	same := known.Resets == read.Resets && known.Config == configDigest(read)
	switch {
	case end != 0 && known.Ended == end, same && known.Status == contract.Expired:
		return contract.Expired
	case same && known.Status == contract.Active && status == contract.Pending:
		return contract.Active
	}
	return status
}

// pollKnowledge returns what an audience knows that has received all of a read.
func pollKnowledge(read voting.Overview, status contract.Status) Knowledge {
	k := Knowledge{Head: read.Head, Resets: read.Resets, Stats: statsDigest(read.Statistics), EndsAt: read.Config.EndsAt}
	if status == contract.Expired {
		k.Ended = k.EndsAt
	}
	if read.Configured {
		k.Configured, k.Config, k.Status = true, configDigest(read), status
		k.StartsAt, k.Hidden = read.Config.StartsAt, read.Config.HidesResults(status)
	}
	return k
}

// announces reports whether the configuration or the status of a configured poll is another
// than an audience knows.
func (k Knowledge) announces(known Knowledge) bool {
	return k.Configured && (known.Config != k.Config || known.Status != k.Status)
}

// knowConfig returns some knowledge with what a poll_update event adds. Its head stays: the
// statistics are still to come.
func knowConfig(known, final Knowledge) Knowledge {
	if known.EndsAt != final.EndsAt {
		known.Ended = 0
	}
	known.Configured, known.Config, known.Status = true, final.Config, final.Status
	known.StartsAt, known.EndsAt, known.Hidden = final.StartsAt, final.EndsAt, final.Hidden
	return known
}

// configPlace returns where a poll_update event belongs. Votes do not change it, so that
// the event keeps its id while it is tried again.
func configPlace(final Knowledge) []uint64 {
	sum := sha256.Sum256([]byte(final.Config + string(final.Status)))
	return []uint64{final.Resets, binary.BigEndian.Uint64(sum[:])}
}

// configDigest returns a digest of a poll's configuration, empty when none is saved.
func configDigest(read voting.Overview) string {
	if !read.Configured {
		return ""
	}
	return digestOf(read.Config.View("", contract.Active).JSON())
}

// statsDigest returns a digest of statistics, empty when there are none.
func statsDigest(s *voting.Statistics) string {
	if s.Empty() {
		return ""
	}
	return digestOf(s.AppendJSON(nil, nil))
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// pollData returns the data of an event about a poll's votes: the id and, of an update,
// the statistics and the status.
func pollData(id string, s *voting.Statistics, status contract.Status) []byte {
	encoded, err := json.Marshal(id)
	if err != nil {
		panic(err) // a string always encodes
	}
	buf := append([]byte(`{"id":`), encoded...)
	if s != nil {
		buf = s.AppendJSON(append(buf, `,"stats":`...), nil)
		buf = append(append(append(buf, `,"status":"`...), status...), '"')
	}
	return append(buf, '}')
}

// JoinSides returns the events of both sides of an audience: one for everyone where both
// have the same.
func JoinSides(staff, viewers []Step) (all []*Event) {
	for _, step := range staff {
		same := slices.IndexFunc(viewers, func(v Step) bool {
			return v.Event.Name == step.Event.Name && bytes.Equal(v.Event.Data, step.Event.Data)
		})
		if same < 0 {
			step.Event.For = Staff
		} else {
			viewers = slices.Delete(slices.Clone(viewers), same, same+1)
		}
		all = append(all, step.Event)
	}
	for _, step := range viewers {
		step.Event.For = Viewers
		all = append(all, step.Event)
	}
	return all
}
