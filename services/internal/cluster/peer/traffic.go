package peer

import "sync/atomic"

// Traffic counts the requests of all connections in one direction.
type Traffic struct {
	// Requests and Bytes are of the requests under way: those without a complete answer.
	Requests, Bytes int64
	// Refused counts the requests beyond the bound of a connection, since the start.
	Refused uint64
}

// Traffic returns what this process has sent to others and what it has received from them.
// Each connection has its own bound (requestsUnderWay and bytesUnderWay). A request that is
// refused here was not sent. One that is refused as received ends its connection, because the
// sender has broken the bound.
func (n *Node) Traffic() (sent, received Traffic) {
	return n.sent.read(), n.received.read()
}

type trafficCounters struct {
	requests, bytes atomic.Int64
	refused         atomic.Uint64
}

func (t *trafficCounters) read() Traffic {
	return Traffic{Requests: t.requests.Load(), Bytes: t.bytes.Load(), Refused: t.refused.Load()}
}

// requestBudget limits the requests under way on a connection to a multiple of
// requestsUnderWay and bytesUnderWay, and counts them in total.
type requestBudget struct {
	multiple, requests, bytes int
	total                     *trafficCounters
}

func (b *requestBudget) take(size int) bool {
	if b.requests >= b.multiple*requestsUnderWay || b.requests > 0 && b.bytes+size > b.multiple*bytesUnderWay {
		b.total.refused.Add(1)
		return false
	}
	b.requests, b.bytes = b.requests+1, b.bytes+size
	b.total.requests.Add(1)
	b.total.bytes.Add(int64(size))
	return true
}

func (b *requestBudget) give(size int) {
	b.requests, b.bytes = b.requests-1, b.bytes-size
	b.total.requests.Add(-1)
	b.total.bytes.Add(-int64(size))
}
