package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// rawConn is one keep-alive connection with one request under way at a time. It
// does as little as it can, because it shares the machine with the program.
type rawConn struct {
	tcp net.Conn
	out []byte // the request
	in  []byte // the answer, and room for a longer one
}

// answer holds the parts of a response that the load generator reads. body is
// valid until the next exchange.
type answer struct {
	status int
	body   []byte
}

// dialConn connects to a loopback address and refuses any other: the load is not
// meant for anyone else's machine.
func dialConn(ctx context.Context, address string) (*rawConn, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	if !at.Addr().IsLoopback() {
		return nil, fmt.Errorf("%s is not a loopback address", address)
	}
	tcp, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &rawConn{tcp: tcp, in: make([]byte, 16<<10)}, nil
}

// setDeadline makes exchanges fail that are not over by then.
func (c *rawConn) setDeadline(at time.Time) { _ = c.tcp.SetDeadline(at) } // only a closed connection refuses

// exchange sends what is in c.out and reads the answer.
func (c *rawConn) exchange() (answer, error) {
	if _, err := c.tcp.Write(c.out); err != nil {
		return answer{}, err
	}
	for n := 0; ; {
		if n == len(c.in) {
			c.in = append(c.in, make([]byte, len(c.in))...)
		}
		more, err := c.tcp.Read(c.in[n:])
		if err != nil {
			return answer{}, err
		}
		n += more
		if a, whole, err := parseAnswer(c.in[:n]); whole || err != nil {
			return a, err
		}
	}
}

// parseAnswer reads a response that has a Content-Length, as every answer of
// the program that is not streamed has. whole is false while bytes are missing.
func parseAnswer(in []byte) (a answer, whole bool, err error) {
	end := bytes.Index(in, []byte("\r\n\r\n"))
	if end < 0 {
		return answer{}, false, nil
	}
	header, body := in[:end+2], in[end+4:]
	if len(header) < len("HTTP/1.1 200") || !bytes.HasPrefix(header, []byte("HTTP/1.1 ")) {
		return answer{}, false, fmt.Errorf("not an HTTP/1.1 response: %.40q", header)
	}
	a.status, err = strconv.Atoi(string(header[9:12]))
	if err != nil {
		return answer{}, false, fmt.Errorf("status: %w", err)
	}
	length, err := contentLength(header)
	switch {
	case err != nil:
		return answer{}, false, err
	case len(body) < length:
		return answer{}, false, nil
	case len(body) > length:
		return answer{}, false, fmt.Errorf("%d bytes after the response", len(body)-length)
	}
	a.body = body
	return a, true, nil
}

func contentLength(header []byte) (int, error) {
	_, value, found := bytes.Cut(header, []byte("\r\nContent-Length: "))
	if !found {
		return 0, errors.New("response without Content-Length")
	}
	value, _, _ = bytes.Cut(value, []byte("\r\n"))
	length, err := strconv.Atoi(string(value))
	if err != nil || length < 0 {
		return 0, fmt.Errorf("Content-Length %q is not a length", value)
	}
	return length, nil
}
