package pairing

import (
	"context"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Game is a game that is paired with a channel.
type Game struct {
	ID string `json:"id"`
	// Created and LastUsed are Unix seconds, 0 where an earlier version did not note them. LastUsed
	// is that of a PIN or a refresh token.
	Created  int64 `json:"created"`
	LastUsed int64 `json:"last_used"`
	// Server reports that the game may act for all channels.
	Server bool `json:"server"`
	// Shown reports that the game showed a PIN, which a broadcaster confirmed.
	Shown bool `json:"shown"`
}

// Games returns the games of a channel that are paired, the least recently used first, those that
// showed a PIN last.
func (s *Service) Games(ctx context.Context, c Channel, now time.Time) ([]Game, error) {
	record, err := document.ReadRecord[channelRecord](ctx, s.documents, c.document())
	if err != nil {
		return nil, err
	}
	record.expire(now.UnixMilli())
	games := []Game{}
	for _, g := range record.Games {
		games = append(games, Game{ID: g.ID, Created: g.Created / 1000, LastUsed: g.Used / 1000, Server: g.Server})
	}
	for _, g := range record.Shown {
		games = append(games, Game{ID: g.ID, Created: g.Created / 1000, LastUsed: g.Created / 1000, Shown: true})
	}
	return games, nil
}

// EndGame ends a game and its tokens. One that does not exist is fault.NotFound.
func (s *Service) EndGame(ctx context.Context, c Channel, id string, now time.Time) error {
	err := edit(ctx, s, c.document(), func(r *channelRecord) error {
		r.expire(now.UnixMilli())
		if !r.end(id, now) {
			return fault.New(fault.NotFound, "No such game")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.documents.Delete(ctx, c.name(key.GamePairing, "", id)) // of a game that showed a PIN
}

// end removes a game and has its tokens refused until they are over.
func (r *channelRecord) end(id string, now time.Time) (found bool) {
	games, shown := len(r.Games), len(r.Shown)
	r.Games = slices.DeleteFunc(r.Games, func(g gameRecord) bool { return g.ID == id })
	r.Shown = slices.DeleteFunc(r.Shown, func(g shownRecord) bool { return g.ID == id })
	if len(r.Games) == games && len(r.Shown) == shown {
		return false
	}
	r.Ended = append(r.Ended[max(len(r.Ended)-maxEnded+1, 0):], endedRecord{id, now.Add(contract.GameTokenLifetime).UnixMilli()})
	return true
}
