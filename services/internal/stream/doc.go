// Package stream is the engine under every poll, ranking question and
// accumulation buffer: a totally ordered, append-only log of chunks whose fold
// is the state that readers see.
//
//	callers ──Do──▶ queue ──▶ decide the batch against the state at the head
//	                             │
//	                             ▼
//	        conflict: catch up ◀─ append chunk head+1 ─▶ outcome unknown: append
//	        and decide again      │ durable              the same chunk again
//	                             ▼
//	                apply, advance the head ──▶ answer every caller
//
// One chunk is appended for each batch of commands, not for each command: what
// arrives while an append is under way goes into the next. So a stream gets
// cheaper by the command as it gets hotter.
//
// # Invariants
//
//  1. The resident state is the fold of chunks 1 to head and of nothing else.
//     What is not known to be durable is never in it, so a reader cannot see a
//     vote that a crash could still take away.
//
//  2. Chunk head+1 is decided against the fold of chunks 1 to head followed by
//     the earlier commands of the same batch. If anyone else appended head+1
//     first, the batch is decided again on top of it. So limits hold exactly,
//     however many engines append to one stream.
//
//  3. A command is in at most one chunk. It is decided again only after the
//     chunk it was in is known never to enter the log, because another chunk
//     holds its sequence number. While that is not known the same chunk, known
//     by its id, is appended again; if it can't be known in time the caller
//     hears that the outcome is unknown and the command is not tried again.
//
//  4. A command is acknowledged only when its chunk is durable and applied. A
//     refusal is answered only when all that it rests on is durable and the
//     state it was decided against was the newest when the answer was due.
//
//  5. A read sees every command acknowledged by any engine before it began:
//     the engine asks the store for the chunk after its head first, and readers
//     that arrive together share the question. With Options.Exclusive nobody
//     else appends and there is nothing to ask.
//
//  6. Times rise strictly from chunk to chunk and do not run ahead of the wall
//     clock: the commits of a stream are paced. Only where the clock itself
//     stepped back are times bent, a millisecond for each paced commit. Domains
//     for which times need not tell chunks apart allow ties (Options.Ties) and
//     are not paced.
//
//  7. Each chunk holds the digest of the one before, as that was appended, and
//     loading checks it: a log with a gap, a fork or a changed byte is refused,
//     never folded. Chunks that an erasure has redacted are the exception, see
//     below.
//
//  8. Commands in waiting, how long they wait while the store is slow, resident
//     bytes, the size of a chunk and the attempts to settle an outcome are bounded.
//     Excess commands are refused at once, those who wait while the store is away
//     when that shows, idle streams are dropped and read again when they are next asked for.
//
//  9. A command that one engine passes to another is applied at most once. Groups
//     of such commands are named in the chunk that holds them, and no engine
//     decides a group that a chunk after the group's floor names. Whoever sent a
//     group and does not know what became of it finishes it through an append of
//     its own, which has seen every earlier chunk and names the group even where
//     all of it is refused: from then on the lost request changes nothing, however
//     late it arrives. Where a stream is at home ([Peers]) is a hint.
//
// # Erasure
//
//  10. A viewer is erased at one place of the log. The notice that begins an
//     erasure is appended like any chunk, after all before it was looked at, and
//     from then on the stream is the fold of the chunks before the notice with each
//     of the viewer's ids replaced by a random name, followed by the chunks after it
//     as they are. So every tally is the same before and after, at any moment of an
//     erasure and wherever it is cut off; a viewer who comes back is a new one. An
//     engine that meets a notice folds the stream from its beginning and goes on with
//     that state only when it is whole.
//
//  11. Only one erasure of a stream is under way at a time: whoever finds a notice
//     whose erasure is not finished finishes that first. What a chunk is redacted to
//     follows from the chunk and the notice, so any number may do it together.
//
// The steps are: the notice, which names the ids; each chunk before it that holds one
// is replaced by its redaction; a seal is appended, which holds a digest over all
// redacted chunks; the notice itself is redacted. A redacted chunk keeps its place,
// time, groups and number of entries, and the digest it had, to which the chunk after
// refers. Its id fades, so that nobody can use that digest to try out whom it was
// about. [Engine.Verify] proves of redacted chunks what the last seal says: that they
// are what the erasures made of them. That this agrees with what was there before is
// not proved by anything that is kept; loading a stream does not look at seals.
//
// What is not reached: a snapshot that a process took before the notice and writes
// after the end of the erasure. It is never used, the next one replaces it, and erasing
// again deletes it. A process that keeps the stream in memory forgets the ids when
// it is next asked about the stream, or drops it.
//
// # Trimming
//
//  12. A stream can be trimmed up to a chunk: from then on it is the fold of a base,
//     which is the state after that chunk, and of the chunks that follow. A trim is
//     begun, sealed and closed like an erasure, and is one of them in 11: so the base is
//     of chunks in which nothing is half done, an erasure finds it there, and the seal
//     covers it. The base takes the place of chunk 1, in one write, and only then do the
//     other chunks become husks. No chunk is ever taken away: a husk keeps its place, so
//     that an engine that has slept cannot append there, its link, and its groups.
//     Whoever meets a husk begins again, at the base.
//
// The package knows no domain: [Rules] are handed to it. It has no clock but
// [Clock] and no goroutine that [Engine.Close] does not wait for. It imports
// nothing of the project but fault and batch.
package stream
