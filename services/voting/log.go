package voting

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// LogRecord is one accepted vote entry, or a configuration that was saved (section 2.3).
type LogRecord struct {
	Config     *Config // nil for a vote
	Identifier string  // shared user id, empty when there was none
	Opaque     string
	Value      int64
	Timestamp  int64  // Unix seconds
	At         Cursor // of this record: the log goes on after it
}

// Cursor is a place in a poll's log: just after the given number of records of
// a chunk. The zero Cursor is the beginning.
type Cursor struct {
	seq     uint64
	records int
}

// String returns the form that ParseCursor reads.
func (c Cursor) String() string { return fmt.Sprintf("%d-%d", c.seq, c.records) }

// ParseCursor reads a cursor. An empty string is the beginning; what is not a
// cursor is refused with fault.Invalid.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	left, right, _ := strings.Cut(s, "-")
	seq, err := strconv.ParseUint(left, 10, 64)
	records, err2 := strconv.ParseUint(right, 10, 31)
	if err != nil || err2 != nil || seq == 0 {
		return Cursor{}, fault.New(fault.Invalid, "Malformed after parameter")
	}
	return Cursor{seq: seq, records: int(records)}, nil
}

// Log yields the records of the poll's accepted votes after a cursor, in the
// order of their receipt, those from before a reset included. It reads as it
// yields.
func (s *Service) Log(ctx context.Context, p Poll, after Cursor) iter.Seq2[LogRecord, error] {
	return s.readLog(ctx, p, after, voteRecords)
}

// LogWithConfigs is Log with the configurations that were saved. Cursors of the one are none
// of the other.
func (s *Service) LogWithConfigs(ctx context.Context, p Poll, after Cursor) iter.Seq2[LogRecord, error] {
	return s.readLog(ctx, p, after, func(e Entry, at int64) (LogRecord, int) {
		if configured, ok := e.(configEntry); ok {
			return LogRecord{Config: &configured.config, Timestamp: at / 1000}, 1
		}
		return voteRecords(e, at)
	})
}

// voteRecords returns the records of an entry: how often the one is there.
func voteRecords(e Entry, at int64) (LogRecord, int) {
	if cast, ok := e.(*voteEntry); ok {
		return cast.logRecord(at), int(cast.times)
	}
	return LogRecord{}, 0
}

func (s *Service) readLog(ctx context.Context, p Poll, after Cursor, records func(e Entry, at int64) (LogRecord, int)) iter.Seq2[LogRecord, error] {
	return func(yield func(LogRecord, error) bool) {
		for chunk, err := range s.engine.Chunks(ctx, p.Stream(), max(after.seq, 1)-1) {
			if err != nil {
				yield(LogRecord{}, err)
				return
			}
			seen := 0
			for entry, err := range s.engine.Entries(&chunk) {
				if err != nil {
					yield(LogRecord{}, fault.Wrap(fault.Storage, err, "the log is damaged"))
					return
				}
				record, times := records(entry, chunk.At)
				for range times {
					seen++
					if chunk.Seq == after.seq && seen <= after.records {
						continue
					}
					record.At = Cursor{chunk.Seq, seen}
					if !yield(record, nil) {
						return
					}
				}
			}
		}
	}
}

func (e *voteEntry) logRecord(at int64) LogRecord {
	return LogRecord{
		Identifier: e.voter.UserID,
		Opaque:     e.voter.OpaqueID,
		Value:      int64(e.value),
		Timestamp:  at / 1000,
	}
}
