package operation

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/acclaim-dev/acclaim/services/accumulation"
)

// buffer returns the buffer that the id names for the caller. Every buffer belongs to the
// extension; "global" means nothing in its name.
func (c *Caller) buffer(id string) accumulation.Buffer {
	return accumulation.Buffer{Environment: string(c.Environment), Extension: c.Extension.ClientID, Name: id}
}

// AppendEntry appends an entry of the caller, a JSON object, to a buffer (section 4.2).
func (s *Service) AppendEntry(ctx context.Context, c *Call, id string, data json.RawMessage) error {
	if err := c.Caller.CheckReads(id); err != nil {
		return err
	}
	keys, err := s.requestKeys(c, id)
	if err != nil {
		return err
	}
	submission := accumulation.Submission{
		ChannelID: c.Caller.ChannelID,
		OpaqueID:  c.Caller.OpaqueID,
		UserID:    c.Caller.UserID,
		Data:      data,
	}
	return s.addEntry(c, false, func(existing bool) error {
		if existing {
			return s.Config.Accumulation.AppendExisting(ctx, c.Caller.buffer(id), submission, keys...)
		}
		return s.Config.Accumulation.Append(ctx, c.Caller.buffer(id), submission, keys...)
	})
}

// ReadEntries yields the entries of a buffer after a time in Unix milliseconds: to a broadcaster
// those of the own channel.
func (s *Service) ReadEntries(ctx context.Context, c *Call, id string, start int64) iter.Seq2[accumulation.Entry, error] {
	var channel *string
	if c.Caller.Role == Broadcaster {
		channel = &c.Caller.ChannelID
	}
	return s.Config.Accumulation.Entries(ctx, c.Caller.buffer(id), start, channel)
}

// ClearBuffer removes the entries of all channels, and so is not for broadcasters.
func (s *Service) ClearBuffer(ctx context.Context, c *Call, id string) error {
	return s.Config.Accumulation.Clear(ctx, c.Caller.buffer(id))
}
