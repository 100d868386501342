// Package live tells subscribers what has changed: the votes of polls, state
// documents, and messages.
//
//	commits here ──hint──┐
//	commits elsewhere ───┴▶ source ── refreshes at a bounded rate ──▶ event ──▶ topics ──▶ subscribers
//	 (reports, or the tail    what was published last:                            bounded buffers
//	  of the store)          compared with a new read
//
// A source is one poll, document, feed, buffer or question that a subscriber asked for, or
// all polls of a channel or an extension. It exists while it has subscribers and a
// little longer. Data without subscribers costs nothing.
//
// # Promises
//
//  1. An event carries what a recent read returned, one that covers the change which
//     the event is about. Events of one source are sent in the order of those reads, so
//     that no older value follows a newer one.
//
//  2. Hints only say when to read. Package event finds changes by comparing, so that
//     a hint may come twice, late or out of order. Where other processes write too,
//     the broker polls the tail of the store for changes without hints, so that
//     nothing depends on which processes run or can be reached. While every write is
//     reported, the broker polls less often.
//
//  3. After the last change of a source there is an event with its final value, and
//     failed reads are retried. When a poll ends there is one more event, with or
//     without votes.
//
//  4. A subscriber whose subscription succeeded receives every change after it, once,
//     and every single message, in order. Where that cannot be kept because too much
//     was missed, it receives a resync event and has to read everything again.
//
//  5. Publishing never waits for a subscriber. One that does not keep up is
//     disconnected.
//
// The package may not know HTTP, a database or a domain. It starts no goroutine that
// [Broker.Close] does not wait for.
package live
