package faultproxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// Message is one message of the wire protocol, its header included.
type Message []byte

const (
	headerBytes     = 16
	maxMessageBytes = 64 << 20 // more than any server takes

	opQuery = 2004 // a driver's hello
	opMsg   = 2013 // everything else
)

var errNoMessage = errors.New("faultproxy: not the MongoDB wire protocol")

// ReadMessage reads one message.
func ReadMessage(r io.Reader) (Message, error) {
	header := make([]byte, headerBytes)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(header)
	if length < headerBytes || length > maxMessageBytes {
		return nil, errNoMessage
	}
	m := make(Message, length)
	copy(m, header)
	_, err := io.ReadFull(r, m[headerBytes:])
	return m, err
}

func (m Message) requestID() uint32  { return binary.LittleEndian.Uint32(m[4:]) }
func (m Message) responseTo() uint32 { return binary.LittleEndian.Uint32(m[8:]) }

// commandName returns the name of the command that a request holds, which is that of
// the first element of its first document; "" where it cannot be read.
func (m Message) commandName() string {
	body := m[headerBytes:]
	switch binary.LittleEndian.Uint32(m[12:]) {
	case opMsg: // flags, and a section whose kind is 0
		if len(body) < 5 || body[4] != 0 {
			return ""
		}
		body = body[5:]
	case opQuery: // flags, a collection, how many to skip and to return
		_, rest, ok := bytes.Cut(body[min(4, len(body)):], []byte{0})
		if !ok || len(rest) < 8 {
			return ""
		}
		body = rest[8:]
	default:
		return ""
	}
	if len(body) < 5 { // length and the kind of the first element
		return ""
	}
	name, _, _ := bytes.Cut(body[5:], []byte{0})
	return string(name)
}
