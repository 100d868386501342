package message

import (
	"bytes"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// command is a message to publish or, as a query, asks for those after a number.
type command struct {
	message Message
	query   bool
	after   uint64
}

type decision = stream.Decision[Message, Page]

// rules hands the domain to the stream engine.
type rules struct{}

var _ stream.Rules[*feed, command, Message, Page] = rules{}

func (rules) New() *feed { return &feed{} }

// Fork returns an empty feed: nothing that is decided depends on what was said
// before.
func (rules) Fork(*feed) *feed       { return &feed{} }
func (rules) Size(f *feed) int       { return 256 + f.bytes }
func (rules) SnapshotFormat() uint32 { return 1 }

func (rules) Decide(_ *feed, _ int64, c command) (decision, error) {
	return decision{Entry: c.message, Store: true}, nil
}

func (rules) Answer(f *feed, c command, _ Page) Page {
	if !c.query {
		return Page{}
	}
	return Page{Messages: f.since(c.after), Last: f.last}
}

// Recover needs nothing: nobody is told anything of a message but that it is there.
func (rules) Recover(command) (Page, error) { return Page{}, nil }

func (rules) Apply(f *feed, _ int64, m Message) { f.add(m) }

func (rules) Identities(m Message) []string { return []string{m.To} }

// Redact drops the data of a message to the viewer alone: null takes its place.
func (rules) Redact(m Message, name func(string) string, drop bool) Message {
	m.To = name(m.To)
	if drop {
		m.Data = []byte("null")
	}
	return m
}

func (rules) Rename(f *feed, name func(string) string) *feed {
	f.bytes = 0
	for i := range f.recent {
		f.recent[i].To = name(f.recent[i].To)
		f.bytes += f.recent[i].size()
	}
	return f
}

// feed is the newest messages of a stream.
type feed struct {
	last   uint64
	recent []Message // by number, without gaps
	bytes  int       // of recent, roughly
}

func (f *feed) add(m Message) {
	f.last++
	m.Number, m.Data = f.last, bytes.Clone(m.Data) // an entry may be part of its chunk
	f.recent = append(f.recent, m)
	f.bytes += m.size()
	for len(f.recent) > keptMessages || f.bytes > keptBytes {
		f.bytes -= f.recent[0].size()
		f.recent[0] = Message{}
		f.recent = f.recent[1:]
	}
}

func (m Message) size() int { return len(m.To) + len(m.Name) + len(m.Data) + messageOverhead }

// messageOverhead is what a message costs in memory beside its bytes.
const messageOverhead = 96

func (f *feed) since(after uint64) []Message {
	if after >= f.last {
		return nil
	}
	missed := min(f.last-after, uint64(len(f.recent)))
	return slices.Clone(f.recent[uint64(len(f.recent))-missed:])
}

func (rules) Equal(a, b *feed) bool {
	return a.last == b.last && slices.EqualFunc(a.recent, b.recent, func(m, o Message) bool {
		return m.Number == o.Number && m.To == o.To && m.Name == o.Name && bytes.Equal(m.Data, o.Data)
	})
}
