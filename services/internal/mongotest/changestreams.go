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

// ChangeStreams stands before a MongoDB-wire server that has no change streams and
// plays them: it passes everything on, says that the server belongs to a replica set,
// and tells of what is inserted through it. It plays what a driver sees of them, and
// is no proof of what MongoDB does. Of what a pipeline asks for it knows the collections
// alone.
type ChangeStreams struct {
	listener net.Listener
	server   string
	ctx      context.Context
	running  sync.WaitGroup

	mu       sync.Mutex
	inserted []insertion
	grown    chan struct{} // closed when there is more
	cursors  map[int64]*cursor
	openings []int
	refusal  bson.D
	lost     int // how many insertions no stream can begin before any more
}

type insertion struct{ collection, id string }

// cursor is an open change stream.
type cursor struct {
	collections []string
	next        int // of inserted
}

// WithChangeStreams returns a server with change streams before that of a URI, and
// the URI of the same database through it. It ends with the test.
func WithChangeStreams(t testing.TB, uri string) (*ChangeStreams, string) {
	t.Helper()
	head, host, tail := split(uri)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &ChangeStreams{
		listener: listener, server: host, ctx: ctx,
		grown: make(chan struct{}), cursors: map[int64]*cursor{},
	}
	c.running.Go(c.accept)
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

// Refuse answers all who open a stream from now on with an error; 0 with none.
func (c *ChangeStreams) Refuse(code int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusal = nil
	if code != 0 {
		c.refusal = failure(code, "refused")
	}
}

// Lose ends all streams and makes what was inserted until now something that no
// stream can begin before any more.
func (c *ChangeStreams) Lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = len(c.inserted) + 1
	clear(c.cursors)
	c.wake()
}

// Openings returns, for each stream that was opened, after how many insertions it was
// asked to go on; -1 for those that began with what was to come.
func (c *ChangeStreams) Openings() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]int(nil), c.openings...)
}

// wake has those look who wait for more. c.mu is held.
func (c *ChangeStreams) wake() {
	close(c.grown)
	c.grown = make(chan struct{})
}

func (c *ChangeStreams) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.running.Go(func() { c.serve(client) })
	}
}

// serve answers one connection, or has the server behind it answered.
func (c *ChangeStreams) serve(client net.Conn) {
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
		answer, ours := c.answer(asked)
		if !ours {
			if answer, err = pass(server, asked); err != nil {
				return
			}
			answer = c.note(asked, answer)
		}
		if _, err := client.Write(answer); err != nil {
			return
		}
	}
}

// pass asks the server behind.
func pass(server io.ReadWriter, asked message) (message, error) {
	if _, err := server.Write(asked); err != nil {
		return nil, err
	}
	return readMessage(server)
}

// answer answers what is about a change stream.
func (c *ChangeStreams) answer(asked message) (answer message, ours bool) {
	command, _ := asked.body()
	var reply bson.D
	if pipeline, err := command.LookupErr("pipeline", "0", "$changeStream"); err == nil {
		reply = c.open(command, pipeline.Document())
	} else if id, ok := command.Lookup("getMore").Int64OK(); ok && id < 0 {
		wait, _ := command.Lookup("maxTimeMS").AsInt64OK()
		reply = c.more(id, time.Duration(wait)*time.Millisecond)
	} else if id, ok := command.Lookup("cursors", "0").Int64OK(); ok && id < 0 {
		reply = c.kill(id)
	}
	if reply == nil {
		return nil, false
	}
	return asked.reply(reply), true
}

// note looks at what the server behind has answered.
func (c *ChangeStreams) note(asked, answer message) message {
	command, documents := asked.body()
	said, _ := answer.body()
	if _, err := said.LookupErr("maxWireVersion"); err == nil { // the answer to hello
		return answer.with(bson.E{Key: "setName", Value: "played"})
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
	c.wake()
	return answer
}
