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
//     gets fault.Uncertain and the command is not tried again.
//
//  4. A command is acknowledged only when its chunk is durable and applied. A
//     refusal is answered only when all that it rests on is durable and the
//     state it was decided against was the newest when the answer was due.
//
//  5. A read sees every command acknowledged by any engine before it began:
//     the engine asks the store for the chunk after its head first, and readers
//     that arrive together share the question. With Options.Exclusive no
//     other engine appends and the store is not asked.
//
//  6. Times rise strictly from chunk to chunk and do not run ahead of the wall
//     clock: the commits of a stream are paced. Only where the clock itself
//     stepped back are times bent, a millisecond for each paced commit. Domains
//     for which times need not tell chunks apart allow ties (Options.AllowEqualTimestamps) and
//     are not paced.
//
//  7. Each chunk holds the digest of the one before, as that was appended, and
//     loading checks it: a log with a gap, a fork or a changed byte is refused,
//     never folded. Chunks that an erasure has redacted are the exception, see
//     below.
//
//  8. Queued commands, the time they wait while the store is slow, resident bytes,
//     the size of a chunk and the time to settle an outcome are bounded. Excess
//     commands are refused at once, and queued ones as soon as the store is found to
//     be unavailable, or the outcome before them has been unknown for a second. Idle streams are evicted and read again on their next use.
//
//  9. A command that one engine forwards to another is applied at most once. Groups
//     of such commands are named in the chunk that holds them, and no engine decides
//     a group that a chunk after the group's low watermark names. A sender that does
//     not know the outcome of a group finishes it through an append of its own, which
//     has seen every earlier chunk and names the group even if all of it is refused:
//     from then on the lost request changes nothing, however late it arrives. The
//     owner of a stream ([Peers]) is a hint.
//
//     Clients do the same with keys (package once). A chunk names the key of each of its
//     commands that had one, so that a key is durable with the entry that it belongs to,
//     and no engine decides a command whose key is in a chunk of the last 60 seconds, nor
//     of the last 24 hours unless keys come so fast that it has dropped the key. It refuses
//     commands rather than drop a younger one. Where an entry replaces what its viewer had
//     done ([KeyHolder]), the last key stands beside that, and is never dropped. The keys
//     in memory, and in snapshots, follow from the chunks, but for when an engine drops
//     one; erasures and truncations remove those of the entries that they remove.
//
// # Rewriting
//
// Three things change what a log has stored: erasures, truncations and purges. Package rewrite
// takes their steps, on top of this one, and verifies what they have left. This package knows
// their control records ([ControlRecord]): it reads every log that they have changed or are about
// to change (refold.go, chunks.go), and makes of a chunk or a state what an erasure makes of it
// (redact.go). history.go and replay.go are all that rewrite gets of an engine. The commit path
// needs none of the three and can be read without them: engine.go, log.go, commit.go, draft.go.
//
// # Erasure
//
//  10. A viewer is erased at one position of the log. The control record that begins
//     an erasure is appended like any chunk, after every chunk before it was checked.
//     From then on the stream is the fold of the chunks before the record, with each
//     of the viewer's ids replaced by a random name, followed by the chunks after it
//     unchanged. So every tally is the same before and after, at any moment of an
//     erasure and wherever it is interrupted; a viewer who returns is a new one. An
//     engine that reads such a record folds the stream again from its beginning and
//     uses that state only when it is complete.
//
//  11. Only one erasure of a stream is under way at a time: an engine that finds the
//     record of an unfinished erasure finishes that one first. The redaction of a
//     chunk follows from the chunk and the record, so any number of engines may do it
//     together.
//
// The steps are: the control record, which names the ids, is appended; each chunk
// before it that holds one of them is replaced by its redaction; a checksum record is
// appended, which holds a digest over all redacted chunks; the control record itself
// is redacted. A redacted chunk keeps its place, time, groups and number of entries,
// and the digest it had, to which the next chunk refers. Its id is replaced by a hash,
// so that the digest cannot confirm a guess at the viewer. Verify of package rewrite proves that
// redacted chunks hold exactly the bytes that the erasures wrote, as the last checksum
// record attests. No stored data can prove that they agree with the original content.
// Loading a stream does not check checksum records.
//
// One thing is not reached: a snapshot that another process took before the control record
// and writes after the end of the erasure. It is never used, the next snapshot
// replaces it, and erasing again deletes it. A process that keeps the stream in memory
// forgets the ids on its next use of the stream, or when it evicts it.
//
// # Truncation
//
//  12. A stream can be truncated up to a chunk: from then on it is the fold of a
//     checkpoint, which is the state after that chunk, and of the chunks that follow.
//     A truncation is begun, sealed by a checksum record and closed like an erasure,
//     and counts as one in invariant 11: so the checkpoint covers chunks in which
//     nothing is half done, erasures find ids in it, and the checksum record covers
//     it. The checkpoint replaces chunk 1, in one write, and only then do the other
//     chunks become tombstones. No chunk is ever removed: a tombstone keeps its place,
//     so that an engine that has slept cannot append there, its link, and its groups.
//     An engine that reads a tombstone begins again, at the checkpoint.
//
// # Purge
//
//  13. A stream is purged at one position of the log, where a control record begins it
//     again: the state after the record is that of a stream without chunks. What was
//     acknowledged before the record is gone, what is acknowledged after it stays. The
//     record is appended like any chunk, directly after the chunks that were checked, so
//     that no entry newer than the caller allows is among them: an engine that appended
//     one meanwhile has taken the place of the record, and an engine that decides against
//     the old state finds its own place taken, reads the record and decides again. Then
//     the chunks before the record are truncated, with the checkpoint of a stream without
//     chunks. So sequence numbers go on, and cursors, positions of sinks and engines that
//     have slept stay safe.
//
// The package knows no domain: [Rules] are handed to it. What it
// stores has times of [Clock] alone; the machine's clock limits how long a call
// waits for a peer. [Engine.Close] waits for every goroutine. hack/arch/layers.go lists the
// imports: none is a domain, a store or a face.
package stream
