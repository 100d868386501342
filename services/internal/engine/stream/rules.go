package stream

import "github.com/acclaim-dev/acclaim/services/internal/engine/wire"

// Rules are a domain: pure functions over its state S, its commands C, its
// entries E and the results R of its commands. They take time as an argument, do
// no I/O and never fail on anything that they have written themselves.
//
// S is a reference (a pointer or a map): Apply changes it in place. While the
// engine reads S from several goroutines it applies nothing, and the reverse;
// what a domain computes lazily inside S during a read must be safe for that.
type Rules[S, C, E, R any] interface {
	Fold[S, E]
	Decider[S, C, E, R]
	EntryEncoding[E]
	PeerEncoding[C, R]
	SnapshotEncoding[S]
	Redactor[S, E]
}

// Fold makes a state of the entries of a log.
type Fold[S, E any] interface {
	// New returns the state of an empty stream.
	New() S

	// Fork returns a scratch state on which commands are decided as on s; nothing else
	// is read from it, so it may leave out what Decide does not read. Apply on the fork
	// must not be visible in s. s does not change while the fork is in use. A fork
	// should cost little however large s is.
	Fork(s S) S

	// Apply folds an entry of a chunk written at the given time (Unix milliseconds)
	// into s. It is the only thing that changes a state, and it is deterministic:
	// the same entries at the same times give the same state, bit for bit.
	Apply(s S, at int64, e E)

	// Equal reports whether two states are the same, however they are laid out in
	// memory: encodings may differ by the order of a map or the seed of a hash table
	// where states do not.
	Equal(a, b S) bool

	// Size returns roughly how many bytes of memory s keeps resident.
	Size(s S) int
}

// Decider decides commands and answers them.
type Decider[S, C, E, R any] interface {
	// Decide returns what a command does at a given time (Unix milliseconds) without
	// doing it. A refusal is an error of a fault kind and stores nothing.
	Decide(s S, at int64, c C) (Decision[E, R], error)

	// Answer returns the result for the caller of c, read from a state that includes
	// c. result comes from Decide; for a query, which is never decided, it is the
	// zero R.
	Answer(s S, c C, result R) R

	// RepeatResult replaces Decide's result when the command repeats one that was accepted
	// before: what is true of it in s.
	RepeatResult(s S, c C) R

	// ReconstructResult replaces Decide's result when the engine only knows that the
	// entry of a command is in the log. It fails with fault.Uncertain when that does
	// not determine the result.
	ReconstructResult(c C) (R, error)
}

// Visitors is implemented by rules with queries of callers who may not decide what stays in
// memory.
type Visitors[C any] interface {
	// Visits reports whether a query is a visit: a stream that only visits have asked for is
	// dropped after each of them.
	Visits(query C) bool
}

// Decision is the outcome of an accepted command.
type Decision[E, R any] struct {
	// Entry is appended to the log if Store is true. A command that changes nothing
	// stores nothing.
	Entry E
	Store bool
	// Storable is set if Entry may be stored though it changes nothing: a command that has
	// a key is recognised by it later.
	Storable bool
	// Reach, if not 0, is a time in Unix milliseconds, no later than that of the decision, that
	// a durable chunk has reached when the command is answered. Where none has, an empty chunk
	// is appended: every later command is then decided at that time or after it, whichever
	// engine decides it and whatever its clock says.
	Reach int64
	// Result is passed to Answer once the entry is durable.
	Result R
}

// EntryEncoding is the encoding of entries in chunks.
type EntryEncoding[E any] interface {
	// AppendEntry appends the encoding of e to buf. It is self-delimiting.
	AppendEntry(buf []byte, e E) []byte

	// DecodeEntry reads an entry, which may alias the bytes of r. A malformed entry is
	// an error of r.
	DecodeEntry(r *wire.Reader) E
}

// PeerEncoding is the encoding in which commands, queries and results travel
// between processes of the same version. It is used like EntryEncoding.
type PeerEncoding[C, R any] interface {
	AppendCommand(buf []byte, c C) []byte
	DecodeCommand(r *wire.Reader) C

	// AppendResult and DecodeResult get the result encoded just before this one, the
	// zero R for the first: what the two have in common need not be said twice.
	AppendResult(buf []byte, result, before R) []byte
	DecodeResult(r *wire.Reader, before R) R
}

// SnapshotEncoding is the encoding of states in snapshots and checkpoints.
type SnapshotEncoding[S any] interface {
	// SnapshotFormat is the version of the encoding that AppendSnapshot writes.
	// Snapshots of another version are ignored. Checkpoints are not: RestoreSnapshot
	// must always be able to read what truncated streams begin with.
	SnapshotFormat() uint32

	// AppendSnapshot appends the encoding of s to buf.
	AppendSnapshot(buf []byte, s S) []byte

	// RestoreSnapshot reads the state that AppendSnapshot encoded, which is all that
	// r has. The state may alias what r reads.
	RestoreSnapshot(r *wire.Reader) S
}

// Redactor replaces the ids of viewers. What other viewers see in a state does not
// depend on the ids of its viewers: entries in which each id is replaced by one that
// no other viewer has add up to the same.
type Redactor[S, E any] interface {
	// Identities returns the ids of viewers that e holds.
	Identities(e E) []string

	// Redact returns e with each id of a viewer in it replaced by rename(id). With
	// drop it also leaves out whatever the viewer was free to write there.
	Redact(e E, rename func(id string) string, drop bool) E

	// Rename returns s with each id of a viewer in it replaced by rename(id): the fold
	// of the entries that Redact would return. It may change s.
	Rename(s S, rename func(id string) string) S
}
