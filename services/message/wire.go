package message

import (
	"encoding/binary"
	"errors"
)

var errCorrupt = errors.New("message: encoding is cut off")

func appendBytes[T ~[]byte | ~string](buf []byte, b T) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(b))), b...)
}

func cutBytes(buf []byte) (b, rest []byte, err error) {
	size, n := binary.Uvarint(buf)
	if n <= 0 || size > uint64(len(buf)-n) {
		return nil, nil, errCorrupt
	}
	end := n + int(size)
	return buf[n:end:end], buf[end:], nil
}

func cutUvarint(buf []byte) (n uint64, rest []byte, err error) {
	n, size := binary.Uvarint(buf)
	if size <= 0 {
		return 0, nil, errCorrupt
	}
	return n, buf[size:], nil
}

// AppendEntry writes a message without its number, which its place in the log
// gives it.
func (rules) AppendEntry(buf []byte, m Message) []byte {
	return appendBytes(appendBytes(appendBytes(buf, m.To), m.Name), m.Data)
}

func (rules) DecodeEntry(buf []byte) (m Message, rest []byte, err error) {
	to, buf, err := cutBytes(buf)
	if err != nil {
		return m, nil, err
	}
	name, buf, err := cutBytes(buf)
	if err != nil {
		return m, nil, err
	}
	m.To, m.Name = string(to), string(name)
	m.Data, buf, err = cutBytes(buf)
	return m, buf, err
}

// What an encoded command is.
const (
	commandPublish = iota + 1
	queryAfter
)

func (r rules) AppendCommand(buf []byte, c command) []byte {
	if c.query {
		return binary.AppendUvarint(append(buf, queryAfter), c.after)
	}
	return r.AppendEntry(append(buf, commandPublish), c.message)
}

func (r rules) DecodeCommand(buf []byte) (c command, rest []byte, err error) {
	if len(buf) == 0 {
		return c, nil, errCorrupt
	}
	switch buf[0] {
	case commandPublish:
		c.message, rest, err = r.DecodeEntry(buf[1:])
		return c, rest, err
	case queryAfter:
		c.query = true
		c.after, rest, err = cutUvarint(buf[1:])
		return c, rest, err
	}
	return c, nil, errCorrupt
}

// AppendResult writes a page: the number of the newest message of the feed, and
// messages up to it.
func (r rules) AppendResult(buf []byte, p, _ Page) []byte {
	buf = binary.AppendUvarint(binary.AppendUvarint(buf, p.Last), uint64(len(p.Messages)))
	for _, m := range p.Messages {
		buf = r.AppendEntry(buf, m)
	}
	return buf
}

func (r rules) DecodeResult(buf []byte, _ Page) (p Page, rest []byte, err error) {
	if p.Last, buf, err = cutUvarint(buf); err != nil {
		return p, nil, err
	}
	count, buf, err := cutUvarint(buf)
	if err != nil || count > min(p.Last, keptMessages) {
		return p, nil, errCorrupt
	}
	for number := p.Last - count + 1; number <= p.Last; number++ {
		var m Message
		if m, buf, err = r.DecodeEntry(buf); err != nil {
			return p, nil, err
		}
		m.Number = number
		p.Messages = append(p.Messages, m)
	}
	return p, buf, nil
}

// AppendSnapshot writes a feed as the page of all it has.
func (r rules) AppendSnapshot(buf []byte, f *feed) []byte {
	return r.AppendResult(buf, Page{Messages: f.recent, Last: f.last}, Page{})
}

func (r rules) RestoreSnapshot(buf []byte) (*feed, error) {
	page, rest, err := r.DecodeResult(buf, Page{})
	if err != nil || len(rest) > 0 {
		return nil, errCorrupt
	}
	f := &feed{last: page.Last, recent: page.Messages}
	for _, m := range f.recent {
		f.bytes += m.size()
	}
	return f, nil
}
