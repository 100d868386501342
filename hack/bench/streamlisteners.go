package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"golang.org/x/sync/errgroup"
)

// streamsOfConnection is the number of streams that a connection of HTTP/2 shares, as many as the
// program takes.
const streamsOfConnection = 100

// flowWindow is the number of bytes that a connection and each of its streams may receive: more than
// any measurement sends, so that none is given back.
const flowWindow = 1<<31 - 1

// connectStreams is connectSubscribers over HTTP/2 without TLS, whose connections each have many
// listeners.
func connectStreams(ctx context.Context, address string, credentials []string) (*subscribers, error) {
	a := newSubscribers(len(credentials))
	groups := slices.Collect(slices.Chunk(credentials, streamsOfConnection))
	shared := make([]*streamConn, len(groups))
	group, dialing := errgroup.WithContext(ctx)
	group.SetLimit(connecting)
	for i, credentials := range groups {
		group.Go(func() (err error) {
			shared[i], err = openStreams(dialing, address, credentials)
			return err
		})
	}
	err := group.Wait()
	for _, c := range shared {
		if c != nil {
			a.conns = append(a.conns, c.tcp)
		}
	}
	if err != nil {
		a.close()
		return nil, err
	}
	for _, c := range shared {
		a.read(func() error { return c.readEvents(a) })
	}
	return a, a.awaitBegun(ctx)
}

// streamConn is a connection of HTTP/2.
type streamConn struct {
	tcp    net.Conn
	framer *http2.Framer
}

// openStreams begins a stream of events for each credential.
func openStreams(ctx context.Context, address string, credentials []string) (*streamConn, error) {
	raw, err := dialConn(ctx, address)
	if err != nil {
		return nil, err
	}
	c := &streamConn{raw.tcp, http2.NewFramer(raw.tcp, raw.tcp)}
	if _, err := raw.tcp.Write([]byte(http2.ClientPreface)); err != nil {
		return c, err
	}
	if err := c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: flowWindow}); err != nil {
		return c, err
	}
	const initialWindow = 1<<16 - 1 // RFC 9113, section 6.9.2
	if err := c.framer.WriteWindowUpdate(0, flowWindow-initialWindow); err != nil {
		return c, err
	}
	var head bytes.Buffer
	encoder := hpack.NewEncoder(&head)
	for i, credential := range credentials {
		head.Reset()
		for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "localhost"}, {":path", "/v1/events"}, {"authorization", credential}} {
			_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // into a buffer
		}
		if err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: head.Bytes(), EndStream: true, EndHeaders: true}); err != nil {
			return c, err
		}
	}
	return c, nil
}

// readEvents reads all streams of the connection and returns why they ended. The program sends
// each event in a frame of its own.
func (c *streamConn) readEvents(s *subscribers) error {
	c.framer.ReadMetaHeaders = hpack.NewDecoder(1<<12, nil)
	begun := map[uint32]bool{}
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return err
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				err = c.framer.WriteSettingsAck()
			}
		case *http2.PingFrame:
			err = c.framer.WritePing(true, f.Data)
		case *http2.MetaHeadersFrame:
			if status := f.PseudoValue("status"); status != "200" {
				err = fmt.Errorf("to listen is answered %s", status)
			}
		case *http2.DataFrame:
			for line := range bytes.Lines(f.Data()) {
				begun[f.StreamID] = s.readLine(line, begun[f.StreamID])
			}
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			err = fmt.Errorf("a stream ended: %v", f)
		}
		if err != nil {
			return err
		}
	}
}
