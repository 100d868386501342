package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// client asks a program what it holds. It is not used while anything is measured.
type client struct {
	base       string // of the API
	admin      string // of the admin listener
	credential string // of a backend
}

// get sends a GET to a route as the backend and hands over the body of its 200.
func (c *client) get(ctx context.Context, target string, decode func(*json.Decoder) error) error {
	return c.getAs(ctx, c.credential, target, decode)
}

func (c *client) getAs(ctx context.Context, credential, target string, decode func(*json.Decoder) error) error {
	body, err := fetch(ctx, c.base+"/"+target, credential)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := decode(json.NewDecoder(body)); err != nil {
		return fmt.Errorf("GET %s: %w", target, err)
	}
	return nil
}

// post sends a write that must be answered with 200.
func (c *client) post(ctx context.Context, credential, target, body string) error {
	status, answer, err := harness.Ask(ctx, http.DefaultClient, http.MethodPost, c.base+"/"+target, credential, body)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("POST %s: %d: %.200s", target, status, answer)
	}
	return err
}

// fetch returns the body of the answer to a GET, which must be 200.
func fetch(ctx context.Context, url, credential string) (io.ReadCloser, error) {
	response, err := harness.Send(ctx, http.DefaultClient, http.MethodGet, url, credential, "")
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		reason, _ := io.ReadAll(io.LimitReader(response.Body, 200)) // best effort: the status says enough
		return nil, fmt.Errorf("GET %s: %s: %s", url, response.Status, reason)
	}
	return response.Body, nil
}
