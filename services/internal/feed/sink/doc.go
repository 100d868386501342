// Package sink delivers events to other systems: webhooks of an extension's owner,
// and the streaming platform's pub/sub, which carries them to viewers.
//
//	commits here ──hint──┐
//	commits elsewhere ───┴▶ queue ── reads ──▶ events ──▶ sender ──▶ other system
//	 (reports, or sweeps)    │    what was delivered last:              │
//	                         └─── position, a document ◀── delivered ───┘
//
// For each sink and source (a poll, a document, a feed of messages, a buffer or a question) the store
// keeps a position: what the other system knows of the source. Sources whose order
// matters to one another share a queue, which has one request in flight at a time:
// for a webhook every source has its own, for the pub/sub every channel, because the
// platform limits the rate of each channel.
//
// # Promises
//
//  1. At least once: a change that a service acknowledged, and that nothing newer of
//     the same poll or document overtakes, is delivered, whichever processes are
//     killed meanwhile. The position moves after the other system has answered. So an
//     event may come twice; its id is then the same.
//
//  2. In order: of one source no older event follows a newer one. Of several processes
//     the one that holds the queue's lease delivers, and pauses; a lease that is not
//     renewed expires, and a position moves by compare-and-set only. No process
//     compares its clock with that of another.
//
//  3. Of a poll or document the latest value wins: changes that are faster than
//     delivery are merged, and the final value is always delivered. Messages are
//     delivered one by one, every one of them: those that a feed no longer has in
//     memory are read from its log.
//
//  4. Nothing waits for a sink. The difference between position and present is what is
//     left to deliver, and takes no memory; requests in flight are bounded for each
//     sink, each has a timeout, and no redirect is followed.
//
//  5. An event that failed for a day, or that the other system refuses for good, is
//     dropped: it is logged and counted, and the next one follows. A pause that the
//     other system asks for is kept.
//
//     A hint can be lost where the change stream of a database was interrupted, or another
//     process could not be asked: a worker sweeps the store for that whenever Watch begins
//     or fails, each two seconds while it fails, and each five minutes in any case. A
//     sweep takes longer the more sources there are; nothing else does.
//
//  6. A new sink begins with what changes from then on. So does each after an import,
//     which calls [Reinitialize] first.
//
// The package may not know a database, a route of the API or a domain, and never logs
// a key, a signature or the path of a URL. It starts no goroutine that
// [Manager.Close] does not wait for.
package sink
