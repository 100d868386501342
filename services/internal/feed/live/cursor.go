package live

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// Cursor is the id of an event: how much a subscriber has received. The numbers of
// messages mean the same in every process, the others in one broker only.
type Cursor struct {
	broker   string
	sequence uint64
	// messages are the numbers of the last messages of the channel, of the extension and to
	// single viewers of the channel.
	messages [3]feedCursor
	// chunks are the numbers of the last chunks of the buffers that are followed, in the
	// order of the names of their streams.
	chunks []uint64
}

// feedCursor is the number of the last message of a feed, if it is followed.
type feedCursor struct {
	followed bool
	number   uint64
}

// AppendText appends the cursor as clients receive it and send it back. It
// implements [encoding.TextAppender].
func (c Cursor) AppendText(buf []byte) ([]byte, error) { return c.appendText(buf), nil }

func (c Cursor) appendText(buf []byte) []byte {
	buf = append(buf, c.broker...)
	buf = strconv.AppendUint(append(buf, '.'), c.sequence, 10)
	for _, m := range c.messages {
		buf = append(buf, '.')
		if m.followed {
			buf = strconv.AppendUint(buf, m.number, 10)
		}
	}
	for _, chunk := range c.chunks {
		buf = strconv.AppendUint(append(buf, '.'), chunk, 10)
	}
	return buf
}

func (c Cursor) String() string { return string(c.appendText(nil)) }

func parseCursor(id string) (c Cursor, err error) {
	parts := strings.Split(id, ".")
	if len(parts) < 4 || len(parts) > 5+contract.MaxTopics { // 4 before whispers had a feed of their own
		return c, fmt.Errorf("live: %q is no event id", id)
	}
	c.broker = parts[0]
	if c.sequence, err = strconv.ParseUint(parts[1], 10, 64); err != nil {
		return c, err
	}
	for i, part := range parts[2:] {
		if i >= len(c.messages) {
			chunk, err := strconv.ParseUint(part, 10, 64)
			if err != nil {
				return c, err
			}
			c.chunks = append(c.chunks, chunk)
			continue
		}
		if part == "" {
			continue
		}
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return c, err
		}
		c.messages[i] = feedCursor{followed: true, number: n}
	}
	return c, nil
}
