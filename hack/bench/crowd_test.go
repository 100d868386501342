package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A process of listeners gives the time at which a message has arrived at each of them, with
// connections of their own and with shared ones.
func TestListenForParent(t *testing.T) {
	for _, shared := range []string{"false", "true"} {
		t.Run("shared "+shared, func(t *testing.T) {
			t.Parallel()
			listenOnce(t, shared)
		})
	}
}

func listenOnce(t *testing.T, shared string) {
	const listeners = streamsOfConnection + 5
	said := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		send := func(text string) {
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		}
		send("id: 1\n\n")
		select {
		case <-said:
		case <-r.Context().Done():
		}
		send(`data: {"type":"tick","data":1}` + "\n\n")
		<-r.Context().Done()
	}))
	server.Config.Protocols = &http.Protocols{}
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	stdin, commands := io.Pipe()
	answers, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- listenForParent(t.Context(), []string{strings.TrimPrefix(server.URL, "http://"), "0", strconv.Itoa(listeners), shared}, stdin, stdout)
	}()
	l := &listenerProcess{in: commands, out: bufio.NewReader(answers)}
	if line, err := l.out.ReadString('\n'); err != nil || line != "listening\n" {
		t.Fatal(line, err)
	}
	if err := l.expectNext(); err != nil {
		t.Fatal(err)
	}
	before := time.Now().UnixMicro()
	close(said)
	arrived, err := l.readArrivals()
	if err != nil || len(arrived) != listeners {
		t.Fatal(arrived, err)
	}
	for _, at := range arrived {
		if at < before || at > time.Now().UnixMicro() {
			t.Errorf("a message that was said at %d has arrived at %d", before, at)
		}
	}
	_ = commands.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
