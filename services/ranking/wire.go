package ranking

import "encoding/binary"

// AppendCommand writes the number of answers asked for, 0 for an entry, and the
// entry.
func (r rules) AppendCommand(buf []byte, c command) []byte {
	buf = binary.AppendUvarint(buf, uint64(c.top))
	if c.top > 0 {
		return buf
	}
	return r.AppendEntry(buf, c.entry)
}

func (r rules) DecodeCommand(buf []byte) (c command, rest []byte, err error) {
	top, n := binary.Uvarint(buf)
	if n <= 0 || top > MaxLimit {
		return c, nil, errCorrupt
	}
	if c.top = int(top); c.top > 0 {
		return c, buf[n:], nil
	}
	c.entry, rest, err = r.DecodeEntry(buf[n:])
	return c, rest, err
}

// What an encoded result holds.
const (
	hasAccepted = 1 << iota
	hasOriginal
)

func (rules) AppendResult(buf []byte, r, _ result) []byte {
	at := len(buf)
	buf = append(buf, 0)
	if r.Accepted {
		buf[at] |= hasAccepted
	}
	if r.Original != nil {
		buf[at] |= hasOriginal
		buf = appendString(buf, *r.Original)
	}
	buf = binary.AppendUvarint(buf, uint64(len(r.top)))
	for _, s := range r.top {
		buf = binary.AppendVarint(appendString(buf, s.Key), s.Score)
	}
	return buf
}

func (rules) DecodeResult(buf []byte, _ result) (r result, rest []byte, err error) {
	if len(buf) == 0 {
		return r, nil, errCorrupt
	}
	has, buf := buf[0], buf[1:]
	r.Accepted = has&hasAccepted != 0
	if has&hasOriginal != 0 {
		var original string
		if original, buf, err = cutString(buf); err != nil {
			return r, nil, err
		}
		r.Original = &original
	}
	count, n := binary.Uvarint(buf)
	if n <= 0 || count > MaxLimit {
		return r, nil, errCorrupt
	}
	buf = buf[n:]
	for range count {
		var s Score
		if s.Key, buf, err = cutString(buf); err != nil {
			return r, nil, err
		}
		score, n := binary.Varint(buf)
		if n <= 0 {
			return r, nil, errCorrupt
		}
		s.Score, buf = score, buf[n:]
		r.top = append(r.top, s)
	}
	return r, buf, nil
}
