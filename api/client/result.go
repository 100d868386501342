package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// resultEvery is the time between two reads of a public result, for which caches keep it.
const resultEvery = time.Second

// FollowResult calls receive with the public result of a poll, nil while there is none, and then
// with each other one, until receive returns an error, the service refuses, or the context ends.
// It returns that error. It needs no credential, and reads once a second what any cache may have;
// while that fails it waits longer. origin is such as https://acclaim.example, with /sandbox
// behind it in the sandbox. The channel of a poll of all channels is empty.
func FollowResult(ctx context.Context, origin string, name contract.PublicName, options Options, receive func(*contract.PublicResult) error) error {
	r := &resultReader{http: options.HTTP, address: resultAddress(origin, name)}
	if r.http == nil {
		r.http = http.DefaultClient
	}
	ticker := time.NewTicker(resultEvery)
	defer ticker.Stop()
	for {
		result, err := backoff.Retry(ctx, func() (*contract.PublicResult, error) { return r.read(ctx) }, backoff.WithMaxElapsedTime(0))
		switch {
		case errors.Is(err, errSameResult):
		case err != nil:
			return err
		default:
			if err := receive(result); err != nil {
				return err
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// errSameResult reports that the service answered as at the last read.
var errSameResult = errors.New("the public result is the one before")

func resultAddress(origin string, name contract.PublicName) string {
	if name.Channel == "" {
		name.Channel = contract.AllChannels
	}
	return strings.TrimSuffix(origin, "/") + "/public/" + url.PathEscape(name.Client) + "/" + url.PathEscape(name.Channel) + "/" + url.PathEscape(name.Poll) + "/result.json"
}

// resultReader reads one address.
type resultReader struct {
	http    *http.Client
	address string
	begun   bool   // there was an answer
	tag     string // of the last result; empty: there was none
}

// read returns a result, nil where there is none, or errSameResult.
func (r *resultReader) read(ctx context.Context) (*contract.PublicResult, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.address, nil)
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	if r.tag != "" {
		request.Header.Set("If-None-Match", r.tag)
	}
	response, err := r.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxResponseBytes))
	if err != nil {
		return nil, err
	}
	return r.take(response, content)
}

func (r *resultReader) take(response *http.Response, content []byte) (*contract.PublicResult, error) {
	switch status := response.StatusCode; {
	case status == http.StatusOK:
		result := new(contract.PublicResult)
		if err := json.Unmarshal(content, result); err != nil {
			return nil, backoff.Permanent(err)
		}
		r.begun, r.tag = true, response.Header.Get("ETag")
		return result, nil
	case status == http.StatusNotModified, status == http.StatusNotFound && r.begun && r.tag == "":
		return nil, backoff.Permanent(errSameResult)
	case status == http.StatusNotFound:
		r.begun, r.tag = true, ""
		return nil, nil //nolint:nilnil // there is none, which is no error
	case status < http.StatusInternalServerError && status != http.StatusTooManyRequests:
		return nil, backoff.Permanent(newError(response, content))
	default:
		return nil, newError(response, content)
	}
}
