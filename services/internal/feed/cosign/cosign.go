// Package cosign asks witnesses to sign checkpoints of the log of results, as c2sp.org/tlog-witness has
// it. A witness signs only a log that continues what it signed before, so that no server shows two
// histories to two audiences.
//
// It may not know the log, nor decide what a refusal means.
package cosign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// Conflict is the error for a witness that knows the log at another size than the request says, or
// that has another root at this size.
type Conflict struct{ Size int64 }

// Error implements error.
func (c *Conflict) Error() string {
	return fmt.Sprintf("the witness has signed %d leaves of the log", c.Size)
}

// ErrInconsistent is the error for a witness to which the log does not continue what it signed.
var ErrInconsistent = errors.New("the log does not continue what the witness has signed")

const (
	// timeout limits one request.
	timeout = 10 * time.Second
	// maxAnswer bounds an answer, in bytes.
	maxAnswer = 64 << 10
	// sizeType is the content type of the size in a conflict.
	sizeType = "text/x.tlog.size"
)

// Client sends checkpoints to witnesses.
type Client struct{ http *http.Client }

// NewClient returns a client that sends its requests by a transport.
func NewClient(transport http.RoundTripper) *Client {
	return &Client{&http.Client{
		Transport: transport, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// CheckAddress returns an error unless a witness can be reached by its address in a policy.
func CheckAddress(w *verifiable.Witness) error {
	u, err := url.Parse(w.Address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("the address of the witness %s is not one of https", w.Name)
	}
	return nil
}

// AddCheckpoint returns the witness's cosignatures of a checkpoint, whose proof is from an old size on.
// The error may be a [Conflict] or ErrInconsistent.
func (c *Client) AddCheckpoint(ctx context.Context, w *verifiable.Witness, old int64, proof tlog.TreeProof, checkpoint []byte) ([]byte, error) {
	body := verifiable.EncodeAddCheckpoint(old, proof, checkpoint)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(w.Address, "/")+"/add-checkpoint", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	switch response.StatusCode {
	case http.StatusOK:
		return w.Cosignatures(checkpoint, answer)
	case http.StatusUnprocessableEntity:
		return nil, ErrInconsistent
	case http.StatusConflict:
		size, err := strconv.ParseInt(strings.TrimSuffix(string(answer), "\n"), 10, 64)
		if err == nil && size >= 0 && response.Header.Get("Content-Type") == sizeType {
			return nil, &Conflict{size}
		}
	}
	return nil, fmt.Errorf("the witness answers %s", response.Status)
}
