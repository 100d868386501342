package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// sharers is the number of connections that patch the same channels.
const sharers = 4

// patches merges into the documents of many channels. Connections share their
// channels in groups of four, and each writes a member of its own, so that
// concurrent patches meet and every lost one shows.
type patches struct {
	credentials []string // of the broadcasters, by channel
	groups      int
	// last is the last value of each member of each channel. A member is written
	// by one connection only, so nothing guards it.
	last [][sharers]int64
}

func newPatches(credentials []string, conns int) *patches {
	return &patches{credentials: credentials, groups: (conns + sharers - 1) / sharers, last: make([][sharers]int64, len(credentials))}
}

func (p *patches) request(buf []byte, conn int, n int64) []byte {
	group, member := conn/sharers, conn%sharers
	size := (len(p.credentials) - group + p.groups - 1) / p.groups // channels of the group
	channel := group + p.groups*int(n%int64(size))
	p.last[channel][member] = n + 1
	var room [40]byte
	body := strconv.AppendInt(append(room[:0], `{"member`...), int64(member), 10)
	body = append(strconv.AppendInt(append(body, `":`...), n+1, 10), '}')
	return appendRequest(buf, "PATCH", "channel_state", p.credentials[channel], body)
}

// verify expects every member to hold the last value its connection wrote.
func (p *patches) verify(ctx context.Context, server *client, _ int64) error {
	for channel, last := range p.last {
		var document map[string]int64
		if err := server.getAs(ctx, p.credentials[channel], "channel_state", decodeInto(&document)); err != nil {
			return err
		}
		for member, want := range last {
			if got := document["member"+strconv.Itoa(member)]; got != want {
				return fmt.Errorf("channel %d: member %d is %d, want %d: a patch was lost", channel, member, got, want)
			}
		}
	}
	return nil
}

// decodeInto decodes one JSON value into v.
func decodeInto(v any) func(*json.Decoder) error {
	return func(in *json.Decoder) error { return in.Decode(v) }
}
