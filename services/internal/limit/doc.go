// Package limit bounds what callers may do. A [Ledger] counts what they do and bring into
// being against rates: a token bucket for each holder and kind. A [Pool] counts what requests
// make the process hold at one time, such as bytes of bodies, connections and subscribers: it
// has a limit in all, and each request claims shares of it under its own names, such as those
// of its viewer and its extension, so that one of them cannot use up the pool. A [Watch]
// counts the refusals of both, by limit and extension.
//
// The package may not import anything of the project but fault. It never waits: whatever does
// not fit is refused.
package limit
