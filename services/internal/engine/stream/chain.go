package stream

import "fmt"

// Next returns the head after a chunk. The error is [ErrDamaged] if that does not
// follow h; ties is [Options.AllowEqualTimestamps].
func (h Head) Next(chunk *Chunk, ties bool) (Head, error) {
	if err := h.checkFollows(chunk, ties); err != nil {
		return h, err
	}
	return chunk.Head(), nil
}

// checkFollows makes sure that chunk follows h.
func (h Head) checkFollows(chunk *Chunk, ties bool) error {
	switch {
	case chunk.Seq != h.Seq+1:
		return fmt.Errorf("%w: %s: chunk %d follows chunk %d", ErrDamaged, chunk.Stream, chunk.Seq, h.Seq)
	case chunk.Prev != h.Sum:
		return fmt.Errorf("%w: %s: chunk %d does not continue chunk %d", ErrDamaged, chunk.Stream, chunk.Seq, h.Seq)
	case chunk.At < h.earliestTime(ties):
		return fmt.Errorf("%w: %s: chunk %d is earlier than it may be after chunk %d", ErrDamaged, chunk.Stream, chunk.Seq, h.Seq)
	}
	return nil
}

// earliestTime returns the least time that the next chunk may have.
func (h Head) earliestTime(ties bool) int64 {
	if ties {
		return h.At
	}
	return h.At + 1
}
