package client

import (
	"context"
	"net/http"
)

// OverlayKey is a long-lived credential of broadcast software, good for reading polls
// and the visible answers to questions.
type OverlayKey struct {
	ID         string   `json:"id,omitempty"`
	Name       string   `json:"name,omitempty"`
	Polls      []string `json:"polls,omitempty"`      // ids; none: all polls, unless Questions are set
	Questions  []string `json:"questions,omitempty"`  // ids; none: no question
	Expires    int64    `json:"expires,omitempty"`    // Unix seconds; 0: never
	Created    int64    `json:"created,omitempty"`    // Unix seconds
	Credential string   `json:"credential,omitempty"` // only of a key that was created just now
}

// CreateOverlayKey creates a key with the name, the polls, the questions and the end of the given one. Only
// this answer has its credential.
func (c *Client) CreateOverlayKey(ctx context.Context, wanted OverlayKey) (k OverlayKey, err error) {
	_, err = c.Call(ctx, Request{Method: http.MethodPost, Path: "/overlay_keys", Body: wanted}, &k)
	return k, err
}

// ListOverlayKeys returns the keys of the channel that are in force, the oldest first.
func (c *Client) ListOverlayKeys(ctx context.Context) ([]OverlayKey, error) {
	var list struct{ Keys []OverlayKey }
	_, err := c.Call(ctx, Request{Method: http.MethodGet, Path: "/overlay_keys"}, &list)
	return list.Keys, err
}

// RevokeOverlayKey ends a key and its streams of events.
func (c *Client) RevokeOverlayKey(ctx context.Context, id string) error {
	_, err := c.Call(ctx, Request{Method: http.MethodDelete, Path: "/overlay_keys", Query: withID(id)}, nil)
	return err
}
