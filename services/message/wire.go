package message

import (
	"encoding/binary"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// AppendEntry writes a message without its number, which its place in the log
// gives it.
func (feedRules) AppendEntry(buf []byte, m Message) []byte {
	return wire.AppendBytes(wire.AppendBytes(wire.AppendBytes(buf, m.To), m.Name), m.Data)
}

// EntryJSON returns the data of a message, for verification.
func (feedRules) EntryJSON(m Message) []byte { return m.Data }

func (feedRules) DecodeEntry(r *wire.Reader) Message {
	return Message{To: r.Text(), Name: r.Text(), Data: r.Bytes()}
}

// What an encoded command is.
const (
	commandPublish = iota + 1
	queryAfter
)

func (r feedRules) AppendCommand(buf []byte, c feedCommand) []byte {
	if c.query {
		return binary.AppendUvarint(append(buf, queryAfter), c.after)
	}
	return r.AppendEntry(append(buf, commandPublish), c.message)
}

func (feedRules) DecodeCommand(r *wire.Reader) (c feedCommand) {
	switch r.Byte() {
	case commandPublish:
		c.message = feedRules{}.DecodeEntry(r)
	case queryAfter:
		c.query, c.after = true, r.Uvarint()
	default:
		r.Fail(wire.ErrMalformed)
	}
	return c
}

// AppendResult writes a page: the number of the newest message of the feed, and
// messages up to it.
func (r feedRules) AppendResult(buf []byte, p, _ Page) []byte {
	buf = binary.AppendUvarint(binary.AppendUvarint(buf, p.Last), uint64(len(p.Messages)))
	for _, m := range p.Messages {
		buf = r.AppendEntry(buf, m)
	}
	return buf
}

func (feedRules) DecodeResult(r *wire.Reader, _ Page) Page {
	p := Page{Last: r.Uvarint()}
	count := uint64(r.Count(3)) // of messages, each of three lengths at least
	if count > min(p.Last, contract.KeptMessages) {
		r.Fail(wire.ErrMalformed)
		return p
	}
	for n := range count {
		m := feedRules{}.DecodeEntry(r)
		m.Number = p.Last - count + 1 + n
		p.Messages = append(p.Messages, m)
	}
	return p
}

// AppendSnapshot writes a feed as the page of all it has.
func (r feedRules) AppendSnapshot(buf []byte, f *recentMessages) []byte {
	return r.AppendResult(buf, Page{Messages: f.recent, Last: f.last}, Page{})
}

func (feedRules) RestoreSnapshot(r *wire.Reader) *recentMessages {
	page := feedRules{}.DecodeResult(r, Page{})
	f := &recentMessages{last: page.Last, recent: page.Messages}
	for _, m := range f.recent {
		f.bytes += m.memorySize()
	}
	return f
}
