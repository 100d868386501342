// Package live tells those who listen what has changed: the votes of polls, state
// documents, and messages.
//
//	commits here ──hint──┐
//	commits elsewhere ───┴▶ source ── looks again, at most so often ──▶ event ──▶ room ──▶ listeners
//	 (tail of the store,     what it was told last: compared with            bounded buffers
//	  or its own word)
//
// A source stands for one poll, document or feed of messages that somebody
// listens to, or for all polls of a channel or an extension. It exists while it is
// listened to and a little longer. What nobody listens to costs nothing.
//
// # Promises
//
//  1. An event carries what a read returned just before, one that saw every write
//     acknowledged by then. Events of one source are sent in the order of those
//     reads, so that no older figure follows a newer one.
//
//  2. Hints only say when to look. What has changed is found by comparing, so that
//     a hint may come twice, late or out of order. Where other processes write,
//     too, the tail of the store is asked all the time for what was not hinted at,
//     so that nothing rests on who lives or can be reached. Where the store itself
//     tells what is written it is asked less often.
//
//  3. After the last change of a source there is an event that says what it came
//     to, and whatever failed meanwhile is tried again. When a poll ends there is
//     one more, with or without votes.
//
//  4. A listener that was told it listens hears of every change after that, once,
//     and of messages every single one in their order. Where that cannot be kept
//     because too much was missed it hears a resync event and has to read anew.
//
//  5. Nobody waits for a listener. Who does not keep up is cut off.
//
// The package may not know HTTP or a database. It starts no goroutine that
// [Hub.Close] does not wait for.
package live
