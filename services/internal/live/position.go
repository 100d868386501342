package live

import (
	"fmt"
	"strconv"
	"strings"
)

// position is how far a listener has heard: the id of an event. The numbers of
// messages mean the same in every process, all else in the one hub only.
type position struct {
	hub    string
	number uint64
	// feeds are the numbers of the last messages of the channel and of the
	// extension; nil where the listener does not follow them.
	feeds [2]*uint64
}

func (p position) append(buf []byte) []byte {
	buf = append(buf, p.hub...)
	buf = strconv.AppendUint(append(buf, '.'), p.number, 10)
	for _, n := range p.feeds {
		buf = append(buf, '.')
		if n != nil {
			buf = strconv.AppendUint(buf, *n, 10)
		}
	}
	return buf
}

func (p position) String() string { return string(p.append(nil)) }

func parsePosition(id string) (p position, err error) {
	parts := strings.Split(id, ".")
	if len(parts) != 4 {
		return p, fmt.Errorf("live: %q is no position", id)
	}
	p.hub = parts[0]
	if p.number, err = strconv.ParseUint(parts[1], 10, 64); err != nil {
		return p, err
	}
	for i, part := range parts[2:] {
		if part == "" {
			continue
		}
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return p, err
		}
		p.feeds[i] = &n
	}
	return p, nil
}
