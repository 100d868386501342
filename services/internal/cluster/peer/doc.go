// Package peer lets the processes that share a database find one another, agree
// roughly on which of them owns each stream, and forward commands.
//
//	membership (the database) ◀─heartbeat, read─ Node ─▶ view: who is alive, who serves what
//	                                                │ Owner(stream): rendezvous hashing
//	engine ─Send─▶ link ─frames over one TLS connection─▶ the owner's listener ─▶ its engine
//
// Nothing here carries correctness: two processes that both believe themselves owner
// of a stream cost throughput, never exactness (see package stream). So membership is
// simple. Each process writes a heartbeat to the database every second and reads
// everyone's. A process counts as alive while its heartbeat changes, by the reader's
// own clock, and as gone a few seconds after it stopped or as soon as it says so. One
// that is alive and cannot be reached keeps its streams; a process that fails to reach
// it commits by itself until a probe gets through.
//
// A process has one connection to each other for the requests that it sends. It begins
// with an HTTP upgrade, by which the other refuses another version of the requests, and
// carries numbered frames from then on: many requests are under way, what waits leaves in
// one write, and an answer comes in parts. While requests are under way each tick asks for
// a sign of life, one for the whole connection. When it breaks, the requests that it has not
// begun to write were not sent ([stream.ErrNotSent]); the outcome of all others is unknown.
//
// A process can ask all the others what they have written ([Node.Watch]), which is how it
// learns of changes where the database has no change stream in time.
//
// Processes that may write to the database are trusted, no others: a process makes a
// key when it starts and registers its certificate's digest, and both ends of a
// connection accept only registered ones. So the listener needs no secret of its
// own, and what it carries is encrypted.
//
// The package knows no domain and no database: requests are bytes, the registry
// is an interface. Run owns its goroutines and ends with its context.
package peer
