package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// Document names a JSON object of the state or the configuration.
type Document string

// The documents that a back end shares with others.
const (
	ChannelState    Document = "/channel_state"
	ExtensionState  Document = "/extension_state"
	HiddenState     Document = "/extension_hidden_state" // neither viewers nor broadcasters see it
	ChannelConfig   Document = "/config/channel"
	ExtensionConfig Document = "/config/extension"
)

// ReadDocument returns a document, {} if it was never written, and its version.
func (c *Client) ReadDocument(ctx context.Context, d Document) (body json.RawMessage, version string, err error) {
	header, err := c.Call(ctx, Request{Method: http.MethodGet, Path: string(d)}, &body)
	return body, header.Get("ETag"), err
}

// ReplaceDocument puts an object in place of a document. With a version other than "" it
// succeeds only if the document has that version; else the status is 412.
func (c *Client) ReplaceDocument(ctx context.Context, d Document, body any, version string) error {
	_, err := c.Call(ctx, Request{Method: http.MethodPost, Path: string(d), Body: body, IfMatch: version}, nil)
	return err
}

// PatchDocument applies a JSON Patch (an array) or a JSON Merge Patch (an object).
func (c *Client) PatchDocument(ctx context.Context, d Document, patch any) error {
	_, err := c.Call(ctx, Request{Method: http.MethodPatch, Path: string(d), Body: patch}, nil)
	return err
}
