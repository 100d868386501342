package resultlog

import (
	"context"

	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Leaves calls visit with the data of the log's leaves from an index on, in order, and before another
// one. It reads the stream. The error is fault.NotFound where there are none.
func (s *Service) Leaves(ctx context.Context, from, until int64, visit func(index int64, data []byte)) error {
	answer, head, err := s.engine.ViewFrom(ctx, stream.LevelVerifiable, key.ResultLog, logCommand{})
	if err != nil {
		return err
	}
	if until > answer.Tree.N {
		return errUnknown
	}
	low, high := uint64(1), head.Seq
	for low < high { // the last chunk that begins no later than the first leaf
		middle := low + (high-low+1)/2
		at, first, ok, err := s.firstLeaf(ctx, answer.Begun, middle)
		if err != nil {
			return err
		}
		if ok && first <= from && at <= high {
			low = at
		} else {
			high = middle - 1
		}
	}
	return s.readLeaves(ctx, answer.Begun, low, from, until, visit)
}

// firstLeaf returns the number of the first chunk with leaves from a number on, and the index of its
// first leaf: -1 of an earlier log.
func (s *Service) firstLeaf(ctx context.Context, begun, from uint64) (seq uint64, first int64, ok bool, err error) {
	for chunk, err := range s.engine.Chunks(ctx, key.ResultLog, from-1) {
		if err != nil {
			return 0, 0, false, err
		}
		for entry, err := range s.engine.Entries(&chunk) {
			if err != nil {
				return 0, 0, false, fault.Wrap(fault.Storage, err, "the log is damaged")
			}
			if entry.begun < begun {
				return chunk.Seq, -1, true, nil
			}
			return chunk.Seq, entry.first, true, nil
		}
	}
	return 0, 0, false, nil
}

func (s *Service) readLeaves(ctx context.Context, begun, seq uint64, from, until int64, visit func(index int64, data []byte)) error {
	for chunk, err := range s.engine.Chunks(ctx, key.ResultLog, seq-1) {
		if err != nil {
			return err
		}
		for entry, err := range s.engine.Entries(&chunk) {
			if err != nil {
				return fault.Wrap(fault.Storage, err, "the log is damaged")
			}
			if entry.begun != begun {
				continue
			}
			for i, leaf := range entry.leaves {
				if index := entry.first + int64(i); from <= index && index < until {
					visit(index, leaf.data)
				}
			}
			if entry.first+int64(len(entry.leaves)) >= until {
				return nil
			}
		}
	}
	return errUnknown
}
