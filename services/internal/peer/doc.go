// Package peer lets the processes that share a database find one another, agree
// roughly on which of them owns each stream, and forward commands.
//
//	membership (the database) ◀─heartbeat, read─ Node ─▶ view: who is alive, who serves what
//	                                                │ Owner(stream): rendezvous hashing
//	engine ─Send─▶ link ─one request at a time, TLS─▶ the owner's listener ─▶ its engine
//
// Nothing here carries correctness: two processes that both believe themselves owner
// of a stream cost throughput, never exactness (see package stream). So membership is
// simple. Each process writes a heartbeat to the database every second and reads
// everyone's. A process counts as alive while its heartbeat changes, by the reader's
// own clock, and as gone a few seconds after it stopped or as soon as it says so. One
// that is alive and cannot be reached keeps its streams; a process that fails to reach
// it commits by itself until a probe gets through.
//
// Processes that may write to the database are trusted, no others: a process makes a
// key when it starts and registers its certificate's digest, and both ends of a
// connection accept only registered ones. So the listener needs no secret of its
// own, and what it carries is encrypted.
//
// The package knows no domain and no database: requests are bytes, the registry
// is an interface. Run owns its goroutines and ends with its context.
package peer
