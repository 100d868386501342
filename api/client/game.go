package client

import (
	"context"
	"net/http"
)

// Game is a game that is paired with the channel.
type Game struct {
	ID string `json:"id"`
	// Created and LastUsed are Unix seconds, 0 where they are unknown.
	Created  int64 `json:"created"`
	LastUsed int64 `json:"last_used"`
	// Server reports that the game may act for all channels of the extension.
	Server bool `json:"server"`
	// Shown reports that the game showed a PIN, which a broadcaster confirmed.
	Shown bool `json:"shown"`
}

// ListGames returns the games that are paired with the channel.
func (c *Client) ListGames(ctx context.Context) ([]Game, error) {
	var list struct{ Games []Game }
	_, err := c.Call(ctx, Request{Method: http.MethodGet, Path: "/gamelink/games"}, &list)
	return list.Games, err
}

// EndGame ends the pairing of a game, its tokens and its connections.
func (c *Client) EndGame(ctx context.Context, id string) error {
	_, err := c.Call(ctx, Request{Method: http.MethodDelete, Path: "/gamelink/games", Query: withID(id)}, nil)
	return err
}
