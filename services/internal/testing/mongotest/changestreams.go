package mongotest

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ChangeStreams is a proxy that simulates change streams for a MongoDB-wire server
// without them: it forwards all commands, claims that the server belongs to a
// replica set, and sends events for inserts through it. It simulates the driver's
// view and proves nothing about MongoDB. It understands the collections of a
// pipeline alone.
type ChangeStreams struct {
	listener net.Listener
	server   string
	ctx      context.Context
	running  sync.WaitGroup

	mu       sync.Mutex
	inserted []insertion
	grown    chan struct{} // closed by the next insertion
	cursors  map[int64]*openCursor
	openings []int
	refusal  bson.D
	lost     int // number of insertions that no stream can resume before
}

type insertion struct{ collection, id string }

// openCursor is an open change stream.
type openCursor struct {
	collections []string
	next        int // of inserted
}

// WithChangeStreams returns a server with change streams before that of a URI, and
// the URI of the same database through it. It ends with the test.
func WithChangeStreams(t testing.TB, uri string) (*ChangeStreams, string) {
	t.Helper()
	head, host, tail := splitURI(uri)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &ChangeStreams{
		listener: listener, server: host, ctx: ctx,
		grown: make(chan struct{}), cursors: map[int64]*openCursor{},
	}
	c.running.Go(c.acceptConnections)
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		c.running.Wait()
	})
	separator := "?"
	if strings.Contains(tail, "?") {
		separator = "&"
	}
	return c, head + listener.Addr().String() + tail + separator + "directConnection=true"
}

// RefuseStreams answers every attempt to open a stream from now on with an error;
// code 0 ends that.
func (c *ChangeStreams) RefuseStreams(code int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusal = nil
	if code != 0 {
		c.refusal = errorReply(code, "refused")
	}
}

// LoseHistory closes all streams and makes all positions up to now too old to
// resume from.
func (c *ChangeStreams) LoseHistory() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = len(c.inserted) + 1
	clear(c.cursors)
	c.wakeStreams()
}

// Openings returns, for each opened stream, the number of insertions after which it
// was to resume; -1 for those that began at their end.
func (c *ChangeStreams) Openings() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]int(nil), c.openings...)
}

// wakeStreams wakes the streams that wait for events. c.mu is held.
func (c *ChangeStreams) wakeStreams() {
	close(c.grown)
	c.grown = make(chan struct{})
}

func (c *ChangeStreams) acceptConnections() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.running.Go(func() { c.serveConnection(client) })
	}
}

// serveConnection handles one connection: it answers commands itself or forwards
// them.
func (c *ChangeStreams) serveConnection(client net.Conn) {
	var dialer net.Dialer
	server, err := dialer.DialContext(c.ctx, "tcp", c.server)
	if err != nil {
		_ = client.Close()
		return
	}
	stop := context.AfterFunc(c.ctx, func() { _, _ = client.Close(), server.Close() })
	defer func() {
		stop()
		_, _ = client.Close(), server.Close()
	}()
	for {
		asked, err := readMessage(client)
		if err != nil {
			return
		}
		answer, ours := c.answerCommand(asked)
		if !ours {
			if answer, err = forwardMessage(server, asked); err != nil {
				return
			}
			answer = c.inspectAnswer(asked, answer)
		}
		if _, err := client.Write(answer); err != nil {
			return
		}
	}
}

// forwardMessage sends a message to the server and returns the answer.
func forwardMessage(server io.ReadWriter, asked wireMessage) (wireMessage, error) {
	if _, err := server.Write(asked); err != nil {
		return nil, err
	}
	return readMessage(server)
}

// answerCommand answers the commands of change streams.
func (c *ChangeStreams) answerCommand(asked wireMessage) (answer wireMessage, ours bool) {
	command, _ := asked.body()
	var reply bson.D
	if pipeline, err := command.LookupErr("pipeline", "0", "$changeStream"); err == nil {
		reply = c.openStream(command, pipeline.Document())
	} else if id, ok := command.Lookup("getMore").Int64OK(); ok && id < 0 {
		wait, _ := command.Lookup("maxTimeMS").AsInt64OK()
		reply = c.nextEvents(id, time.Duration(wait)*time.Millisecond)
	} else if id, ok := command.Lookup("cursors", "0").Int64OK(); ok && id < 0 {
		reply = c.killCursor(id)
	}
	if reply == nil {
		return nil, false
	}
	return asked.newReply(reply), true
}

// inspectAnswer records insertions that the server acknowledged and edits its hello.
func (c *ChangeStreams) inspectAnswer(asked, answer wireMessage) wireMessage {
	command, documents := asked.body()
	said, _ := answer.body()
	if _, err := said.LookupErr("maxWireVersion"); err == nil { // the answer to hello
		return answer.withMembers(bson.E{Key: "setName", Value: "played"})
	}
	collection, ok := command.Lookup("insert").StringValueOK()
	if _, err := said.LookupErr("writeErrors"); !ok || err == nil {
		return answer
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range documents {
		if id, ok := d.Lookup("_id").StringValueOK(); ok {
			c.inserted = append(c.inserted, insertion{collection, id})
		}
	}
	c.wakeStreams()
	return answer
}
