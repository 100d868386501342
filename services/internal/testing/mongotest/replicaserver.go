package mongotest

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// ReplicaClient is the network between one client process and the members: each client
// has listeners of its own, so that it can be cut off from some of them alone.
type ReplicaClient struct {
	set       *ReplicaSet
	endpoints []*replicaEndpoint // by member
	router    *router            // nil: it reaches the members themselves
}

// replicaEndpoint is the listener at which a client reaches a member. It is guarded by the set's mutex.
type replicaEndpoint struct {
	client      *ReplicaClient
	member      *replicaMember
	address     string
	listener    net.Listener
	connections map[net.Conn]struct{}
	cutOff      bool
}

// NewClient returns another client.
func (s *ReplicaSet) NewClient() *ReplicaClient { return s.addClient(nil) }

// addClient returns a client that reaches the members themselves or, unless that is nil, the
// router.
func (s *ReplicaSet) addClient(through *router) *ReplicaClient {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.listen(through)
	s.clients = append(s.clients, c)
	return c
}

// URI returns the URI of the database for this client.
func (c *ReplicaClient) URI() string {
	if c.router != nil { // beside the last member
		return "mongodb://" + c.endpoints[len(c.endpoints)-1].address + "/acclaim?"
	}
	return "mongodb://" + strings.Join(c.addresses(), ",") + "/acclaim?replicaSet=" + c.set.name
}

func (c *ReplicaClient) addresses() (all []string) {
	for _, e := range c.endpoints {
		all = append(all, e.address)
	}
	return all
}

// CutOff holds all that goes between the client and a member, or ends that.
func (c *ReplicaClient) CutOff(member int, on bool) {
	c.set.change(member, func(*replicaMember) { c.endpoints[member].cutOff = on })
}

// listen opens an endpoint at each member.
func (s *ReplicaSet) listen(through *router) *ReplicaClient {
	c := &ReplicaClient{set: s, router: through}
	for _, m := range s.members {
		listener, err := s.open(s.ctx, m.index)
		if err != nil {
			s.t.Fatalf("listen for member %d: %v", m.index, err)
		}
		e := &replicaEndpoint{client: c, member: m, address: listener.Addr().String(), listener: listener, connections: map[net.Conn]struct{}{}}
		s.running.Go(e.acceptAll)
		c.endpoints = append(c.endpoints, e)
	}
	return c
}

// acceptAll serves connections until the listener is closed. Those to a killed member end
// at once: the listener stays open, so that nothing else gets the member's port.
func (e *replicaEndpoint) acceptAll() {
	s := e.client.set
	for {
		connection, err := e.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		up := e.member.up
		if up {
			e.connections[connection] = struct{}{}
		}
		s.mu.Unlock()
		if up {
			s.running.Go(func() { e.serve(connection) })
		} else {
			_ = connection.Close()
		}
	}
}

// breakConnections breaks all connections. s.mu is held.
func (e *replicaEndpoint) breakConnections() {
	for connection := range e.connections {
		_ = connection.Close()
	}
}

// pass waits while the member is paused or the client is cut off from it, and reports
// whether the connection goes on.
func (e *replicaEndpoint) pass() bool {
	s := e.client.set
	s.mu.Lock()
	defer s.mu.Unlock()
	for e.member.paused || e.cutOff {
		s.awaitChange(time.Now().Add(time.Hour))
		if s.ctx.Err() != nil {
			return false
		}
	}
	return e.member.up && s.ctx.Err() == nil
}

// serve answers the requests of one connection.
func (e *replicaEndpoint) serve(connection net.Conn) {
	defer func() {
		_ = connection.Close()
		e.client.set.mu.Lock()
		delete(e.connections, connection)
		e.client.set.mu.Unlock()
	}()
	for {
		request, err := readMessage(connection)
		if err != nil || !e.pass() {
			return
		}
		c := e.parse(request)
		for more := true; more; {
			var answer bson.D
			if c.isHello() {
				answer, more = e.hello(c)
			} else {
				answer, more = c.execute(), false
			}
			if !e.pass() {
				return
			}
			reply := c.encode(request, answer, more)
			if _, err := connection.Write(reply); err != nil {
				return
			}
			request = reply // the next one answers this one
		}
	}
}

const opQuery = 2004

// parse reads a command.
func (e *replicaEndpoint) parse(request wireMessage) *replicaCommand {
	c := &replicaCommand{set: e.client.set, member: e.member, client: e.client}
	_, _, _, code, rest, _ := wiremessage.ReadHeader(request)
	if code == opQuery { // the first hello of a connection: flags, a collection, two numbers
		_, rest, _ = bytes.Cut(rest[4:], []byte{0})
		c.body, c.legacy = bson.Raw(rest[8:]), true
	} else {
		flags, _, _ := wiremessage.ReadMsgFlags(rest)
		c.exhaust = flags&wiremessage.ExhaustAllowed != 0
		c.body, c.documents = request.body()
	}
	c.read()
	return c
}

// encode returns the message of an answer.
func (c *replicaCommand) encode(request wireMessage, answer bson.D, more bool) wireMessage {
	_, to, _, _, _, _ := wiremessage.ReadHeader(request)
	if c.legacy {
		at, out := wiremessage.AppendHeaderStart(nil, wiremessage.NextRequestID(), to, wiremessage.OpReply)
		out = wiremessage.AppendReplyFlags(out, wiremessage.AwaitCapable)
		out = wiremessage.AppendReplyCursorID(out, 0)
		out = wiremessage.AppendReplyStartingFrom(out, 0)
		out = wiremessage.AppendReplyNumberReturned(out, 1)
		return setLength(at, append(out, mustMarshal(answer)...))
	}
	reply := encodeReply(to, answer)
	if more {
		reply[16] |= byte(wiremessage.MoreToCome)
	}
	return reply
}

func (c *replicaCommand) isHello() bool {
	return strings.EqualFold(c.name, "hello") || strings.EqualFold(c.name, "ismaster")
}

// hello answers a hello, and reports whether another answer follows by itself: drivers
// watch a member by a hello that it answers when its topologyVersion changes
// (specifications/server-discovery-and-monitoring, streaming protocol).
func (e *replicaEndpoint) hello(c *replicaCommand) (answer bson.D, more bool) {
	s, m := e.client.set, e.member
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Commands["hello"]++
	more = e.awaitTopology(c)
	answer = bson.D{
		{Key: "helloOk", Value: true}, {Key: "ismaster", Value: m.primary || e.client.router != nil}, {Key: "isWritablePrimary", Value: m.primary || e.client.router != nil},
		{Key: "maxBsonObjectSize", Value: 16 << 20}, {Key: "maxMessageSizeBytes", Value: 48_000_000}, {Key: "maxWriteBatchSize", Value: 100_000},
		{Key: "logicalSessionTimeoutMinutes", Value: 30}, // without it a driver sends no txnNumber
		{Key: "minWireVersion", Value: 0}, {Key: "maxWireVersion", Value: 21},
		{Key: "localTime", Value: time.Now()}, {Key: "ok", Value: 1},
	}
	if e.client.router != nil {
		return append(answer, bson.E{Key: "msg", Value: "isdbgrid"}), false
	}
	return append(answer, e.membership()...), more
}

// awaitTopology waits, if the driver asks for that, until the member's topologyVersion is
// not the one that the driver knows, and reports whether it wants the next one as well.
func (e *replicaEndpoint) awaitTopology(c *replicaCommand) (more bool) {
	s, m := e.client.set, e.member
	if known, err := c.body.LookupErr("topologyVersion", "counter"); err == nil && e.client.router == nil {
		wait, _ := c.body.Lookup("maxAwaitTimeMS").AsInt64OK()
		deadline := time.Now().Add(time.Duration(wait) * time.Millisecond)
		for m.up && m.topology <= known.AsInt64() && s.awaitChange(deadline) {
		}
		if more = c.exhaust; more {
			c.body = mustMarshal(bson.D{
				{Key: "hello", Value: 1}, {Key: "maxAwaitTimeMS", Value: wait},
				{Key: "topologyVersion", Value: m.topologyVersion()},
			})
		}
	}
	return more
}

// membership returns the part of a hello about the set.
func (e *replicaEndpoint) membership() bson.D {
	s, m := e.client.set, e.member
	answer := bson.D{
		{Key: "setName", Value: s.name}, {Key: "setVersion", Value: 1},
		{Key: "hosts", Value: e.client.addresses()}, {Key: "me", Value: e.address},
		{Key: "secondary", Value: !m.primary}, {Key: "topologyVersion", Value: m.topologyVersion()},
	}
	if m.primary {
		// Drivers prefer the primary of the latest election to one that does not know yet.
		id, _ := bson.ObjectIDFromHex(fmt.Sprintf("7fffffff%016x", m.term))
		answer = append(answer, bson.E{Key: "electionId", Value: id})
	}
	for _, p := range s.members {
		if p.primary && p.term == m.term {
			answer = append(answer, bson.E{Key: "primary", Value: e.client.endpoints[p.index].address})
		}
	}
	return answer
}

func (m *replicaMember) topologyVersion() bson.D {
	return bson.D{{Key: "processId", Value: m.process}, {Key: "counter", Value: m.topology}}
}
