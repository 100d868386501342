package stream

// Rules are a domain: pure functions over its state S, its commands C, its
// entries E and what a command is answered with, R. They take time as an
// argument, do no I/O and never fail on anything they have written themselves.
//
// S is a reference (a pointer or a map): Apply changes it in place. While the
// engine reads S from several goroutines it applies nothing, and the reverse;
// what a domain computes lazily inside S during a read must be safe for that.
type Rules[S, C, E, R any] interface {
	// New returns the state of an empty stream.
	New() S

	// Fork returns a scratch state that begins equal to s, for deciding a batch:
	// Apply on the fork must not be visible in s. s does not change while the
	// fork is in use. A fork should cost little however large s is.
	Fork(s S) S

	// Decide says what a command does at a given time (Unix milliseconds) without
	// doing it. A refusal is an error of a fault kind and stores nothing.
	Decide(s S, at int64, c C) (Decision[E, R], error)

	// Answer returns what the caller of c is told, read from a state that includes
	// it. result is what Decide gave; for a query, of which Decide never hears, it
	// is the zero R.
	Answer(s S, c C, result R) R

	// Recover stands in for Decide's result where all that is known of a command is
	// that its entry is in the log. It fails with fault.Uncertain when that does
	// not tell.
	Recover(c C) (R, error)

	// Apply folds an entry of a chunk written at the given time into s. It is the
	// only thing that changes a state, and it is deterministic: the same entries
	// at the same times give the same state, bit for bit.
	Apply(s S, at int64, e E)

	// Equal reports whether two states are the same, however they are laid out in
	// memory: encodings may differ by the order of a map or the seed of a hash table
	// where states do not.
	Equal(a, b S) bool

	// Size returns roughly how many bytes of memory s keeps resident.
	Size(s S) int

	// AppendEntry appends the encoding of e to buf. It is self-delimiting.
	AppendEntry(buf []byte, e E) []byte

	// DecodeEntry decodes the entry at the start of buf and returns the rest. The
	// entry may alias buf.
	DecodeEntry(buf []byte) (e E, rest []byte, err error)

	// Identities returns the ids of viewers that e holds.
	Identities(e E) []string

	// Redact returns e with each id of a viewer in it as name gives it. drop says to
	// leave out, too, whatever the viewer was free to write there. What others see in
	// a state does not depend on how its viewers are called: entries that are named
	// anew, each viewer by a name that is nobody else's, add up to the same.
	Redact(e E, name func(id string) string, drop bool) E

	// Rename returns s with each id of a viewer in it as name gives it: what Redact
	// would have made of the entries that s is the fold of. It may change s.
	Rename(s S, name func(id string) string) S

	// AppendCommand and DecodeCommand carry commands and queries from one process
	// to another of the same version, in the way of AppendEntry and DecodeEntry.
	AppendCommand(buf []byte, c C) []byte
	DecodeCommand(buf []byte) (c C, rest []byte, err error)

	// AppendResult and DecodeResult carry answers back. before is the answer
	// encoded just before this one, the zero R for the first: what the two have in
	// common need not be said twice.
	AppendResult(buf []byte, r, before R) []byte
	DecodeResult(buf []byte, before R) (r R, rest []byte, err error)

	// SnapshotFormat is the version of the encoding that AppendSnapshot writes.
	// Snapshots of another version are ignored. Bases are not: RestoreSnapshot must
	// go on to read what trimmed streams begin with, whatever comes later.
	SnapshotFormat() uint32

	// AppendSnapshot appends the encoding of s to buf.
	AppendSnapshot(buf []byte, s S) []byte

	// RestoreSnapshot returns the state that AppendSnapshot encoded. It owns buf.
	RestoreSnapshot(buf []byte) (S, error)
}

// Decision is the outcome of an accepted command.
type Decision[E, R any] struct {
	// Entry is what to append to the log, if Store is true. A command that
	// changes nothing stores nothing.
	Entry E
	Store bool
	// Result is handed to Answer once the entry is durable.
	Result R
}
