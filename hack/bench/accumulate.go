package main

import (
	"context"
	"fmt"
	"strconv"
)

// submissions appends numbered objects to one accumulation buffer.
type submissions struct {
	buffer      string
	credentials []string
}

func (s *submissions) request(buf []byte, _ int, n int64) []byte {
	var room [80]byte
	body := append(strconv.AppendInt(append(room[:0], `{"n":`...), n, 10), `,"choice":"left","at":{"x":0.25,"y":0.75}}`...)
	return appendRequest(buf, "POST", "accumulate?id="+s.buffer, s.credentials[n%int64(len(s.credentials))], body)
}

// page is a response of section 4.2.
type page struct {
	Data []struct {
		Data struct {
			N int64 `json:"n"`
		} `json:"data"`
	} `json:"data"`
	Latest int64 `json:"latest"`
}

// verify reads the buffer with the cursor and expects each number exactly once.
func (s *submissions) verify(ctx context.Context, server *client, n int64) error {
	seen := make([]bool, n)
	var entries, start int64
	for {
		var p page
		if err := server.get(ctx, fmt.Sprintf("accumulate?id=%s&start=%d", s.buffer, start), decodeInto(&p)); err != nil {
			return err
		}
		if len(p.Data) == 0 {
			break
		}
		if p.Latest <= start {
			return fmt.Errorf("latest is %d after start=%d: the cursor does not advance", p.Latest, start)
		}
		for _, entry := range p.Data {
			i := entry.Data.N
			if i < 0 || i >= n || seen[i] {
				return fmt.Errorf("entry %d twice or never submitted", i)
			}
			seen[i] = true
		}
		entries, start = entries+int64(len(p.Data)), p.Latest
	}
	if entries != n {
		return fmt.Errorf("%d entries acknowledged, %d read back", n, entries)
	}
	return nil
}
