package peer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// pipeTo returns a connection, and the end of the member that it leads to.
func pipeTo() (*clientConn, net.Conn) {
	here, there := net.Pipe()
	heard := new(atomic.Uint64)
	return newClientConn(here, bufio.NewReader(countedReader{here, heard}), heard, &trafficCounters{}), there
}

// ask sends a request in a goroutine and returns how it ends.
func ask(ctx context.Context, c *clientConn, request string) <-chan error {
	ended := make(chan error, 1)
	go func() {
		ended <- c.exchangeRequest(ctx, requestHeader{engine: "poll"}, []byte(request), func([]byte) {})
	}()
	return ended
}

// When a connection breaks while it writes a request, the outcome of that request is unknown,
// and the one behind it was not sent.
func TestBrokenConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, member := pipeTo()
		first := ask(t.Context(), c, "first")
		synctest.Wait() // the writer is busy
		second := ask(t.Context(), c, "second")
		synctest.Wait()
		if _, err := io.ReadFull(member, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		_ = member.Close()
		if err := <-first; err == nil || errors.Is(err, stream.ErrNotSent) {
			t.Errorf("the first: %v, want an error that leaves the outcome open", err)
		}
		if err := <-second; !errors.Is(err, stream.ErrNotSent) {
			t.Errorf("the second: %v, want ErrNotSent", err)
		}
		if err := <-ask(t.Context(), c, "third"); !errors.Is(err, stream.ErrNotSent) {
			t.Errorf("one after the end: %v, want ErrNotSent", err)
		}
	})
}

// A member that takes a request and says nothing is unreachable after silence. One that gives
// signs of life may take its time.
func TestSignsOfLife(t *testing.T) {
	const takes = 20 * time.Second
	for name, alive := range map[string]bool{"silent": false, "slow": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, member := pipeTo()
				defer c.fail(errClosed)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				begun := time.Now()
				ended := ask(ctx, c, "request")
				go answerAfter(member, takes, alive)
				switch err, took := <-ended, time.Since(begun); {
				case alive && (err != nil || took < takes):
					t.Errorf("the slow one: %v after %v", err, took)
				case !alive && (!errors.Is(err, errSilent) || errors.Is(err, stream.ErrNotSent) || took > silence+tick):
					t.Errorf("the silent one: %v after %v", err, took)
				}
			})
		})
	}
}

// answerAfter answers a request some time after it came, and signs of life at once if alive.
func answerAfter(member net.Conn, takes time.Duration, alive bool) {
	out := newFrameWriter(member)
	go func() { _ = out.run() }()
	defer out.close()
	for reader := bufio.NewReader(member); ; {
		f, err := readFrame(reader, func(int) error { return nil })
		switch {
		case err != nil:
			return
		case f.number > 0:
			defer time.AfterFunc(takes, func() { out.add(frameEnd, f.number) }).Stop()
		case alive:
			out.add(frameEnd, 0)
		}
	}
}

// Requests to a member that takes nothing are refused beyond the budget, and none of them
// is kept when the connection has ended.
func TestRequestsUnderWayAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, member := pipeTo()
		large := string(make([]byte, bytesUnderWay/4))
		var under []<-chan error
		for range 3 {
			under = append(under, ask(t.Context(), c, large))
			synctest.Wait()
		}
		if err := <-ask(t.Context(), c, large); !errors.Is(err, errBusy) || !errors.Is(err, stream.ErrNotSent) {
			t.Errorf("one too many: %v", err)
		}
		if err := <-ask(t.Context(), c, string(make([]byte, maxMessage))); !errors.Is(err, errTooLarge) || !errors.Is(err, stream.ErrNotSent) {
			t.Errorf("one that is too large: %v", err)
		}
		_ = member.Close()
		for _, ended := range under {
			if err := <-ended; err == nil {
				t.Error("a request that nobody took was answered")
			}
		}
		if c.held.requests != 0 || c.held.bytes != 0 || len(c.out.waiting) != 0 {
			t.Errorf("the ended connection holds %+v and %d bytes", c.held, len(c.out.waiting))
		}
		if got, want := c.held.total.read(), (Traffic{Refused: 1}); got != want {
			t.Errorf("the traffic is %+v, want %+v", got, want)
		}
	})
}

// A member that sends more than it may loses its connection.
func TestReceivedRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Node{engines: map[string]ServeFunc{"poll": func(ctx context.Context, _ []byte, _ func([]byte)) error {
			<-ctx.Done()
			return nil
		}}}
		here, there := net.Pipe()
		ended := make(chan struct{})
		go func() {
			n.serveFrames(t.Context(), here)
			close(ended)
		}()
		frame := appendFrame(nil, frameRequest, 1, requestHeader{engine: "poll"}.encode())
		const most = 2 * requestsUnderWay
		for range most {
			if _, err := there.Write(frame); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if _, got := n.Traffic(); got != (Traffic{Requests: most, Bytes: int64(most * (len(frame) - 4))}) {
			t.Errorf("%d requests are counted as %+v", most, got)
		}
		_, _ = there.Write(frame) // the connection ends before it is read whole
		<-ended
		synctest.Wait()
		if _, got := n.Traffic(); got != (Traffic{Refused: 1}) {
			t.Errorf("after the end: %+v, want one refused", got)
		}
	})
}

// Answers that a peer does not take wait where they are made.
func TestAnswersWaitingAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		w := newFrameWriter(here)
		ended := make(chan error, 1)
		go func() { ended <- w.run() }()
		const answers = 64
		var added atomic.Int64
		for range answers {
			go func() {
				if w.addWhenRoom(framePart, 1, make([]byte, answersWaiting/4)) {
					added.Add(1)
				}
			}()
		}
		synctest.Wait()
		if n := added.Load(); n > 9 { // one write is under way, and as much waits
			t.Errorf("%d answers of %d bytes wait", n, answersWaiting/4)
		}
		go func() { _, _ = io.Copy(io.Discard, there) }()
		synctest.Wait()
		if n := added.Load(); n != answers {
			t.Errorf("%d of %d answers were sent to a peer that takes them", n, answers)
		}
		w.close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = here.Close()
	})
}

// A connection that is retired ends with its last request.
func TestRetiredConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, member := pipeTo()
		ended := ask(t.Context(), c, "request")
		go answerAfter(member, time.Second, true)
		synctest.Wait()
		c.retire()
		if c.isUsable() {
			t.Error("a retired connection takes requests")
		}
		if err := <-ended; err != nil {
			t.Errorf("the request under way: %v", err)
		}
		synctest.Wait()
		if !errors.Is(c.err, errClosed) {
			t.Errorf("the connection ends with %v", c.err)
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add(appendFrame(nil, frameRequest, 1, requestHeader{engine: "poll", trace: "00-1-2-03"}.encode(), []byte("groups")))
	f.Add(appendFrame(nil, frameEnd, 300))
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := readFrame(bufio.NewReader(bytes.NewReader(data)), func(size int) error {
			if size > len(data) {
				return errTooLarge
			}
			return nil
		})
		if err != nil {
			return
		}
		again := appendFrame(nil, read.kind, read.number, read.rest)
		if len(again) > len(data) {
			t.Errorf("%x is read as %x", data, again)
		}
		if h, groups, err := splitRequest(read.rest); err == nil && len(h.engine)+len(h.trace)+len(groups) > len(read.rest) {
			t.Errorf("%x is split into %+v and %x", read.rest, h, groups)
		}
	})
}
