// Package sink tells other systems what has changed: webhooks of an extension's
// owner, and the streaming platform's own pub/sub, which carries it to viewers.
//
//	commits here ──hint──┐
//	commits elsewhere ───┴▶ lane ── looks ──▶ events ──▶ sender ──▶ other system
//	 (sweeps of the store)   │    what was delivered last:              │
//	                         └─── position, a document ◀── delivered ───┘
//
// A subject is a poll, a state document or a feed of messages. For each sink and
// subject the store keeps a position: what the other system knows of the subject.
// Subjects whose order matters to one another share a lane, in which one request
// is under way at a time: for a webhook every subject has its own, for the pub/sub
// every channel, because that is what the platform counts.
//
// # Promises
//
//  1. At least once: what was acknowledged by a service, and not overtaken by
//     something newer of the same poll or document, is delivered, whoever is
//     killed meanwhile. The position moves after the other system has answered. So
//     an event may come twice; its id is then the same.
//
//  2. In order: of one subject no older event follows a newer one. Of several
//     processes the one that holds the lane's claim delivers, and pauses; a claim
//     that is not renewed expires, and a position moves by compare-and-set only. No
//     process compares its clock with that of another.
//
//  3. Of a poll or document the latest value wins: what changes faster than it can
//     be delivered is told of less often, and what it came to is always told last.
//     Messages are told one by one, every one of them: those that a feed does not
//     keep at hand any more are read from its log.
//
//  4. Nothing waits for a sink. What is to be delivered is kept as the difference
//     of position and present, not in a queue; requests under way are bounded for
//     each sink, each has a time limit, and no redirect is followed.
//
//  5. An event that was tried in vain for [Options.DeadAfter], or that the other
//     system declares gone, is dead: it is logged, counted, and the next one's
//     turn has come. A pause that the other system asks for is kept.
//
//  6. A sink that is new begins with what changes from then on. So does each after an
//     import, which calls [Forget] first.
//
// The package may not know a database or a route of the API, and never logs a key,
// a signature or the path of a URL. It starts no goroutine that [Manager.Close] does not wait
// for.
package sink
