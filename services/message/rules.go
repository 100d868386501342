package message

import (
	"bytes"
	"slices"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// feedCommand is a message to publish or, as a query, asks for those after a number.
type feedCommand struct {
	message Message
	query   bool
	after   uint64
}

type feedDecision = stream.Decision[Message, Page]

// feedRules hands the domain to the stream engine.
type feedRules struct{}

var _ stream.Rules[*recentMessages, feedCommand, Message, Page] = feedRules{}

func (feedRules) New() *recentMessages { return &recentMessages{} }

// Fork returns an empty feed: no decision depends on earlier messages.
func (feedRules) Fork(*recentMessages) *recentMessages { return &recentMessages{} }
func (feedRules) Size(f *recentMessages) int           { return 256 + f.bytes }
func (feedRules) SnapshotFormat() uint32               { return 1 }

func (feedRules) Decide(_ *recentMessages, _ int64, c feedCommand) (feedDecision, error) {
	return feedDecision{Entry: c.message, Store: true}, nil
}

func (feedRules) Answer(f *recentMessages, c feedCommand, _ Page) Page {
	if !c.query {
		return Page{}
	}
	return Page{Messages: f.messagesAfter(c.after), Last: f.last}
}

func (feedRules) RepeatResult(*recentMessages, feedCommand) Page { return Page{} }

// ReconstructResult needs nothing: the result of a message is only that it is stored.
func (feedRules) ReconstructResult(feedCommand) (Page, error) { return Page{}, nil }

func (feedRules) Apply(f *recentMessages, _ int64, m Message) { f.addMessage(m) }

func (feedRules) Identities(m Message) []string { return []string{m.To} }

// Redact drops the data of a message to the viewer alone: null takes its place.
func (feedRules) Redact(m Message, rename func(string) string, drop bool) Message {
	m.To = rename(m.To)
	if drop {
		m.Data = []byte("null")
	}
	return m
}

func (feedRules) Rename(f *recentMessages, rename func(string) string) *recentMessages {
	f.bytes = 0
	for i := range f.recent {
		f.recent[i].To = rename(f.recent[i].To)
		f.bytes += f.recent[i].memorySize()
	}
	return f
}

// recentMessages is the newest messages of a stream.
type recentMessages struct {
	last   uint64
	recent []Message // by number, without gaps
	bytes  int       // of recent, roughly
}

func (f *recentMessages) addMessage(m Message) {
	f.last++
	m.Number, m.Data = f.last, bytes.Clone(m.Data) // an entry may be part of its chunk
	f.recent = append(f.recent, m)
	f.bytes += m.memorySize()
	for len(f.recent) > contract.KeptMessages || f.bytes > keptBytes {
		f.bytes -= f.recent[0].memorySize()
		f.recent[0] = Message{}
		f.recent = f.recent[1:]
	}
}

func (m Message) memorySize() int { return len(m.To) + len(m.Name) + len(m.Data) + messageOverhead }

// messageOverhead is the memory of a message beside its bytes, in bytes.
const messageOverhead = 96

func (f *recentMessages) messagesAfter(after uint64) []Message {
	if after >= f.last {
		return nil
	}
	missed := min(f.last-after, uint64(len(f.recent)))
	return slices.Clone(f.recent[uint64(len(f.recent))-missed:])
}

func (feedRules) Equal(a, b *recentMessages) bool {
	return a.last == b.last && slices.EqualFunc(a.recent, b.recent, func(m, o Message) bool {
		return m.Number == o.Number && m.To == o.To && m.Name == o.Name && bytes.Equal(m.Data, o.Data)
	})
}
