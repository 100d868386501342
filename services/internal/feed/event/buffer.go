package event

import (
	"encoding/json"
	"slices"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/ranking"
)

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

// questionData is the data of a rank_update event: what GET /rank answers, the id, and how
// many answers wait for staff.
type questionData struct {
	ID   string          `json:"id"`
	Data []ranking.Score `json:"data"`
	Held int             `json:"held,omitempty"`
}

// DiffQuestion compares what is known of a question with a read of its best answers. The
// latest ranks win. Whatever is written is a change, also where the event has the answers of
// the one before: staff reads hidden answers too, and may have read in between what an
// answer and its moderation have left as it was.
func DiffQuestion(s Source, known Knowledge, read ranking.Board) Change {
	final := Knowledge{Head: read.Head}
	data := EncodeJSON(questionData{s.ID, append([]ranking.Score{}, read.Scores...), read.Held}) // [] for none
	if len(read.Scores)+read.Held > 0 {
		final.Stats = digestOf(data)
	}
	if final.Head == known.Head && final.Stats == known.Stats {
		return Change{Final: final}
	}
	e := s.newEvent(contract.RankUpdate+s.ID, data, read.Head)
	e.For, e.Named = Staff, true
	return Change{Steps: []Step{{Event: e, After: final}}, Final: final}
}
