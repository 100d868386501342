package stream

// Tuning holds the limits that only tests set.
type Tuning = internalLimits

// Tuned returns the options with other limits.
func (o Options) Tuned(t Tuning) Options {
	o.tuning = t
	return o
}

// ErasedIDs returns the ids that an erasure replaces, from the chunk that began it as it
// was appended; none for any other chunk.
func ErasedIDs(chunk *Chunk) (ids []string) {
	_, encoded, err := splitPayload(chunk)
	if err != nil {
		return nil
	}
	if record, err := controlRecordIn(chunk, encoded); err == nil && record.HasKind(RecordErasing) {
		for _, n := range record.Names {
			ids = append(ids, n.ID)
		}
	}
	return ids
}
