package event

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
)

// BufferReader are read for the entries after a chunk.
type BufferReader interface {
	After(ctx context.Context, b accumulation.Buffer, chunk uint64) (accumulation.Page, error)
	Head(ctx context.Context, b accumulation.Buffer) (uint64, error)
}

func bufferName(environment, extension, _, id string) key.Name {
	return accumulation.Buffer{Environment: environment, Extension: extension, Name: id}.StreamName()
}

func (s Source) buffer() accumulation.Buffer {
	return accumulation.Buffer{Environment: s.Audience.Environment, Extension: s.Audience.Extension, Name: s.ID}
}

func loadBuffer(ctx context.Context, stores *Stores, s Source, known Knowledge, _ time.Time) (*sourceRead, error) {
	page, err := stores.Buffers.After(ctx, s.buffer(), known.Head)
	return &sourceRead{head: max(page.Head, known.Head), after: known.Head, diff: func(s Source, known Knowledge, _ time.Time, _ Sight) Change {
		return DiffBuffer(s, known, page)
	}}, err
}

// bufferSpan is the part of a buffer that an event carries: the entries of the chunks after
// one, up to another.
type bufferSpan struct {
	after, end uint64
	entries    []accumulation.Entry
}

// bufferData is the data of an accumulate event: what GET /accumulate answers, and the id.
type bufferData struct {
	ID     string               `json:"id"`
	Data   []accumulation.Entry `json:"data"`
	Latest int64                `json:"latest"`
}

// DiffBuffer compares what is known of a buffer with a page of its entries. All of them
// are in one event, for those that see the whole extension; [Event.ByChannel] divides it.
func DiffBuffer(s Source, known Knowledge, page accumulation.Page) Change {
	end := Knowledge{Head: max(page.End, known.Head)}
	if len(page.Entries) == 0 {
		return Change{Final: end}
	}
	e := s.bufferEvent(s.Audience, bufferSpan{known.Head, page.End, page.Entries})
	return Change{Steps: []Step{{Event: e, After: end}}, Final: Knowledge{Head: max(page.Head, end.Head)}}
}

func (s Source) bufferEvent(a Audience, span bufferSpan) *Event {
	latest := span.entries[len(span.entries)-1].Observed
	data, err := exactjson.Marshal(bufferData{s.ID, span.entries, latest})
	if err != nil { // an entry is damaged: the others come all the same
		span.entries = slices.Clone(span.entries)
		for i, entry := range span.entries {
			if !json.Valid(entry.Data) {
				span.entries[i].Data = []byte("{}")
			}
		}
		data = EncodeJSON(bufferData{s.ID, span.entries, latest})
	}
	return &Event{
		Audience: a, Name: contract.Accumulate + s.ID, Data: data, For: Staff, Named: true,
		span: &span, source: s.Name, place: []uint64{span.after, span.end},
	}
}

// Span returns the numbers of the chunks of a buffer after and up to which the event has the
// entries. ok is false for an event about anything else.
func (e *Event) Span() (after, end uint64, ok bool) {
	if e.span == nil {
		return 0, 0, false
	}
	return e.span.after, e.span.end, true
}

// Clip returns the event about a buffer without the entries up to one chunk and those after
// another; nil when none is left.
func (e *Event) Clip(after, end uint64) *Event {
	if after <= e.span.after && e.span.end <= end {
		return e
	}
	clipped := bufferSpan{after: max(after, e.span.after), end: min(end, e.span.end)}
	for _, entry := range e.span.entries {
		if after < entry.Chunk && entry.Chunk <= end {
			clipped.entries = append(clipped.entries, entry)
		}
	}
	if len(clipped.entries) == 0 {
		return nil
	}
	s, _ := ParseSource(e.source)
	return s.bufferEvent(e.Audience, clipped)
}

// ByChannel returns an event about a buffer divided by the channels of its entries, in the
// order of their first entries.
func (e *Event) ByChannel() (all []*Event) {
	s, _ := ParseSource(e.source)
	byChannel, order := map[string][]accumulation.Entry{}, []string{}
	for _, entry := range e.span.entries {
		if byChannel[entry.ChannelID] == nil {
			order = append(order, entry.ChannelID)
		}
		byChannel[entry.ChannelID] = append(byChannel[entry.ChannelID], entry)
	}
	for _, channel := range order {
		a := Audience{Environment: s.Audience.Environment, Extension: s.Audience.Extension, Channel: channel}
		all = append(all, s.bufferEvent(a, bufferSpan{e.span.after, e.span.end, byChannel[channel]}))
	}
	return all
}
