package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
)

// A client of HTTP/2 that takes no more bytes loses its stream 10 seconds after the event that does
// not fit, and the others on its connection go on.
func TestStreamWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broker *live.Broker
		a, listener := newAPI(t, func(c *apiSettings) { broker = c.Live.(*live.Broker) }), make(pipes)
		server := httpapi.NewServer(a.handler, slog.New(slog.DiscardHandler))
		go func() { _ = server.Serve(listener) }() // until the listener ends
		here, there := net.Pipe()
		listener <- there
		c := openFrames(t, here)
		const small, large = 1, 3
		c.listen(t, small, 300, bubbled(viewer()).header(t))
		c.listen(t, large, 1<<20, bubbled(viewer()).header(t))
		c.awaitData(t, small, "id: ")
		c.awaitData(t, large, "id: ")
		a.as(bubbled(broadcaster()), "POST", "/broadcast", `{"event":"long","data":"`+strings.Repeat("x", 1000)+`"}`).is(200)
		c.awaitData(t, large, "long")
		<-time.After(9 * time.Second)
		if n := broker.Stats().Subscribers; n != 2 {
			t.Errorf("%d subscribers before the limit of a write", n)
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if n := broker.Stats().Subscribers; n != 1 {
			t.Errorf("%d subscribers after the limit of a write", n)
		}
		<-time.After(time.Minute)
		a.as(bubbled(broadcaster()), "POST", "/broadcast", `{"event":"late","data":1}`).is(200)
		c.awaitData(t, large, "late")
		_ = here.Close() // the test is over
		close(listener)
		_ = server.Close() // likewise
		_ = server.Shutdown(context.WithoutCancel(t.Context()))
	})
}

// frames is a client of HTTP/2 that decides what each stream may receive.
type frames struct {
	*http2.Framer
	head    bytes.Buffer
	encoder *hpack.Encoder
	more    chan struct{} // has an element when there is more to read; closed with the connection

	mu   sync.Mutex
	read map[uint32]string // by stream
}

func openFrames(t *testing.T, conn net.Conn) *frames {
	t.Helper()
	c := &frames{Framer: http2.NewFramer(conn, conn), more: make(chan struct{}, 1), read: map[uint32]string{}}
	c.encoder = hpack.NewEncoder(&c.head)
	go func() { _ = c.readAll() }() // until the connection ends
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}), c.WriteSettingsAck()); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *frames) readAll() error {
	defer close(c.more)
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			return err
		}
		f, ok := frame.(*http2.DataFrame)
		if !ok {
			continue
		}
		c.mu.Lock()
		c.read[f.StreamID] += string(f.Data())
		c.mu.Unlock()
		select {
		case c.more <- struct{}{}:
		default:
		}
	}
}

// listen begins a stream of events that may receive a number of bytes.
func (c *frames) listen(t *testing.T, stream, window uint32, credential string) {
	t.Helper()
	c.head.Reset()
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "x"}, {":path", "/v1/events"}, {"authorization", credential}} {
		_ = c.encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // into a buffer
	}
	if err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.head.Bytes(), EndStream: true, EndHeaders: true}); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteWindowUpdate(stream, window); err != nil {
		t.Fatal(err)
	}
}

// awaitData returns when a stream has received a text.
func (c *frames) awaitData(t *testing.T, stream uint32, text string) {
	t.Helper()
	for !c.hasRead(stream, text) {
		if _, ok := <-c.more; !ok && !c.hasRead(stream, text) {
			t.Fatalf("the connection ends before stream %d receives %q", stream, text)
		}
	}
}

func (c *frames) hasRead(stream uint32, text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Contains(c.read[stream], text)
}
