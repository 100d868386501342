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
//  7. Each chunk holds the digest of the one before, and loading checks it: a
//     log with a gap, a fork or a changed byte is refused, never folded.
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
// The package knows no domain: [Rules] are handed to it. It has no clock but
// [Clock] and no goroutine that [Engine.Close] does not wait for. It imports
// nothing of the project but fault and batch.
package stream
